// SPDX-License-Identifier: Apache-2.0 OR MIT
// What operations share: checks of their operands, results, and walks over segments.
#ifndef HADAL_VCODE_OPERANDS_H
#define HADAL_VCODE_OPERANDS_H

#include "../core/blocks.h"
#include "../core/lazy.h"
#include "../core/machine.h"

namespace hadal::vcode {

// Whether there are so many cells.
bool need(Machine &machine, size_t cells);
// Whether a cell has this type; if so, its data is computed.
bool want(Machine &machine, Cell &cell, Type type, const char *what);
// The same for indices, which may stay ranges that were put off.
bool want_indices(Machine &machine, Cell &indices, bool may_be_ranges);
// Whether two vectors have one length, a vector one element for each element, or for each segment.
bool agree(Machine &machine, const Cell &one, const Cell &other);
bool compatible(Machine &machine, const Cell &vector, const Cell &descriptor);
bool by_segment(Machine &machine, const Cell &vector, const Cell &descriptor);
bool pair_up(Machine &machine, const Cell &one, const Cell &other);

// A new vector as the result; an error when there is no memory.
template <typename T> T *new_result(Machine &machine, Cell &result, uint64_t length) {
    if (HRT_UNLIKELY(!make_vector(result, TypeOf<T>::value, length))) {
        machine.out_of_memory();
        return nullptr;
    }
    return static_cast<T *>(data_of(result));
}

// Whether nobody else has this data cell's block: then a result may take its place.
inline bool only_here(const Cell &cell) { return !cell.in_block || cell.block->references == 1; }

// Takes the operands off the stack and pushes the result.
inline bool finish(Machine &machine, size_t operands, const Cell &result) {
    machine.drop(operands);
    *machine.top++ = result;
    return true;
}

} // namespace hadal::vcode

#endif
