// SPDX-License-Identifier: Apache-2.0 OR MIT
// Memory spaces, allocators and their traits, in the numbers of omp.h.
#ifndef HADAL_OMP_ALLOCATOR_TRAITS_H
#define HADAL_OMP_ALLOCATOR_TRAITS_H

#include <cstddef>
#include <cstdint>

namespace hadal::omp {

enum MemorySpace : uintptr_t {
    SpaceDefault,
    SpaceLargeCapacity,
    SpaceConst,
    SpaceHighBandwidth,
    SpaceLowLatency,
    SPACES
};

enum TraitKey : int32_t {
    KeySyncHint = 1,
    KeyAlignment = 2,
    KeyAccess = 3,
    KeyPoolSize = 4,
    KeyFallback = 5,
    KeyFallbackData = 6,
    KeyPinned = 7,
    KeyPartition = 8,
};

enum TraitValue : uintptr_t {
    ValueFalse = 0,
    ValueTrue = 1,
    ValueContended = 3,
    ValueUncontended = 4,
    ValueSerialized = 5,
    ValuePrivate = 6,
    ValueAll = 7,
    ValueThread = 8,
    ValuePteam = 9,
    ValueCgroup = 10,
    ValueDefaultMemory = 11,
    ValueNull = 12,
    ValueAbort = 13,
    ValueAllocator = 14,
    ValueEnvironment = 15,
    ValueNearest = 16,
    ValueBlocked = 17,
    ValueInterleaved = 18,
    ValueDefault = UINTPTR_MAX,
};

// omp_alloctrait_t.
struct Trait {
    int32_t key;
    uintptr_t value;
};

struct Allocator {
    uintptr_t space = SpaceDefault;
    size_t alignment = 1;
    size_t pool_size = SIZE_MAX;
    size_t used = 0; // of the pool
    uintptr_t fallback = ValueDefaultMemory;
    uintptr_t fallback_allocator = 0;
    uintptr_t partition = ValueEnvironment;
    bool is_pinned = false;
};

inline constexpr uintptr_t ALLOCATOR_DEFAULT = 1, ALLOCATORS_PREDEFINED = 9; // numbers below

// Makes an allocator as the traits say; false if a trait or its value does not exist.
bool apply_traits(Allocator *allocator, uintptr_t space, int count, const Trait *traits);

// Its description; null: it is none.
Allocator *allocator_of(uintptr_t handle);
uintptr_t allocator_new(uintptr_t space, int count, const Trait *traits);

} // namespace hadal::omp

#endif
