// SPDX-License-Identifier: Apache-2.0 OR MIT
// Memory from allocators of the program, for the `allocate` constructs of both front ends
// (api/allocators.cpp).
#ifndef HADAL_OMP_ALLOCATOR_H
#define HADAL_OMP_ALLOCATOR_H

#include <cstddef>
#include <cstdint>

namespace hadal::omp {

// The predefined allocators are small numbers, others addresses; 0: the default allocator of the current
// task. `align` is a power of two, or 0. Null if there is no memory and the allocator's fallback says so, or
// if `bytes` is 0.
void *allocate(uintptr_t allocator, size_t align, size_t bytes);
// The same, zeroed.
void *allocate_zeroed(uintptr_t allocator, size_t align, size_t bytes);
// Null is allowed. The memory knows its allocator.
void deallocate(void *memory);

uintptr_t default_allocator();

// The value of OMP_ALLOCATOR; 0: it is not one.
uintptr_t allocator_from_text(const char *text);
// Its name, for OMP_DISPLAY_ENV.
const char *allocator_name(uintptr_t allocator);

} // namespace hadal::omp

#endif
