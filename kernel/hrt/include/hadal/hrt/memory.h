/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Memory from the kernel: physically contiguous, in the direct map, on the zone asked for. It never faults,
 * moves or costs a TLB shootdown. Small sizes come from per-CPU caches of size classes, large ones from the
 * zone's buddy allocator; a block of 2 MiB or more is aligned to its size, up to 1 GiB, and mapped by pages
 * as large.
 */
#ifndef HADAL_HRT_MEMORY_H
#define HADAL_HRT_MEMORY_H

#include "calls.h"
#include "layout/memory.h"

HRT_BEGIN

/* Allocates; NULL when the zones allowed have no such block, when bytes is 0, or on a bad zone. */
static inline void *hrt_alloc(uint64_t bytes, int32_t zone, uint32_t flags) {
    return hrt_calls->alloc(bytes, 16, zone, flags);
}
/* `align` is a power of two up to 1 GiB. */
static inline void *hrt_alloc_aligned(uint64_t bytes, uint64_t align, int32_t zone, uint32_t flags) {
    return hrt_calls->alloc(bytes, align, zone, flags);
}
/* Frees; NULL is allowed. HRT_EINVAL: not the start of a live allocation (a double free included): nothing is
 * done. */
static inline int hrt_free(void *memory) { return hrt_calls->free(memory); }
/* Bytes that may be used from there on; 0: not the start of a live allocation. */
static inline uint64_t hrt_usable_bytes(const void *memory) { return hrt_calls->usable_bytes(memory); }
/* The zone of an allocation, or -1. */
static inline int32_t hrt_zone_of(const void *memory) { return hrt_calls->zone_of(memory); }

HRT_END

#endif
