// SPDX-License-Identifier: Apache-2.0 OR MIT
// `allocate` directives and clauses, and the memory of depend objects. The allocator is the program's.
#include <cstring>

#include "api/allocator_traits.h"
#include "core/allocator.h"
#include "ident.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

OMP_EXPORT void *__kmpc_alloc(Gtid, size_t bytes, uintptr_t allocator) {
    return allocate(allocator, 0, bytes);
}

OMP_EXPORT void *__kmpc_aligned_alloc(Gtid, size_t align, size_t bytes, uintptr_t allocator) {
    return allocate(allocator, align, bytes);
}

OMP_EXPORT void *__kmpc_calloc(Gtid, size_t count, size_t item_bytes, uintptr_t allocator) {
    size_t bytes;
    return __builtin_mul_overflow(count, item_bytes, &bytes) ? nullptr : allocate_zeroed(allocator, 0, bytes);
}

// `uses_allocators`: like the user routines (api/allocator_traits.cpp).
extern "C" {
uintptr_t omp_init_allocator(uintptr_t space, int count, const Trait *traits);
void omp_destroy_allocator(uintptr_t allocator);
}

OMP_EXPORT uintptr_t __kmpc_init_allocator(Gtid, uintptr_t space, int count, const Trait *traits) {
    return omp_init_allocator(space, count, traits);
}

OMP_EXPORT void __kmpc_destroy_allocator(Gtid, uintptr_t allocator) { omp_destroy_allocator(allocator); }

// The memory knows its allocator.
OMP_EXPORT void __kmpc_free(Gtid, void *memory, uintptr_t) { deallocate(memory); }
