// SPDX-License-Identifier: Apache-2.0 OR MIT
// Memory for blocks: size classes with free lists over hrt_alloc(), within a bound.
//
// Four size classes for each power of two. Small ones are cut from slabs in the interpreter's zone. Large
// ones come from hrt_alloc() one by one, zone after zone where there are several, are not touched here, and
// stay in their free list, warm, until somebody needs the memory for another size.
#ifndef HADAL_VCODE_MEMORY_H
#define HADAL_VCODE_MEMORY_H

#include "cell.h"

namespace hadal::vcode {

// How much memory blocks may take together; 0: seven eighths of the machine's.
void memory_bound(uint64_t bytes);

// NULL: there is no more. `size_class` is for give().
void *take(uint64_t bytes, uint16_t &size_class);
void give(void *memory, uint16_t size_class);
uint64_t class_bytes(uint16_t size_class);

// An uninitialised vector with one reference; false: out of memory.
bool make_vector(Cell &cell, Type type, uint64_t length);
// A descriptor with these lengths (an INT cell whose reference passes to it, also on failure). The caller has
// checked them; `total` is their sum. False: out of memory.
bool make_segments(Cell &cell, Cell lengths, uint32_t total);
bool make_pair(Cell &cell, const Cell &first, const Cell &second);

// Arrays of the interpreter itself, which grow: the stacks, scratch.
void *take_array(uint64_t bytes);
void give_array(void *memory);

} // namespace hadal::vcode

#endif
