// SPDX-License-Identifier: Apache-2.0 OR MIT
// `allocate` clauses: the allocator is the program's.
#include "core/allocator.h"
#include "gomp.h"

using namespace hadal::omp;

OMP_EXPORT void *GOMP_alloc(size_t align, size_t bytes, uintptr_t allocator) {
    return allocate(allocator, align, bytes);
}

// The memory knows its allocator.
OMP_EXPORT void GOMP_free(void *memory, uintptr_t) { deallocate(memory); }
