// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reductions in which tasks take part: private copies by member.
#ifndef HADAL_OMP_REDUCTION_H
#define HADAL_OMP_REDUCTION_H

#include <cstddef>
#include <cstdint>

namespace hadal::omp {

struct Member;

// One list item. A null `initialise` means zeros.
struct ReductionItem {
    uintptr_t original = 0;
    size_t bytes = 0;
    size_t offset = 0;         // in each member's memory
    void *front_end = nullptr; // kmpc: its description of the item
};

// The list items of one construct, and memory for the copies: member n's are at memory + n * stride.
struct ReductionScope {
    ReductionScope *outer = nullptr;
    char *memory = nullptr; // zeroed at first
    size_t stride = 0;      // bytes
    uint32_t members = 0;
    uint32_t item_count = 0;
    ReductionItem *items = nullptr;
};

// Finds an item by its original address, or by an address in any member's copy of it, in `scope` or one
// outside of it; null if there is none. `*found` is the scope.
ReductionItem *reduction_find(ReductionScope *scope, uintptr_t address, ReductionScope **found);

} // namespace hadal::omp

#endif
