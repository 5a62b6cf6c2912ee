/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* CPUs, caches and NUMA zones. Fixed after boot. */
#ifndef HADAL_HRT_TOPOLOGY_H
#define HADAL_HRT_TOPOLOGY_H

#include "calls.h"
#include "layout/topology.h"

HRT_BEGIN

/* Of libhrt: what the kernel keeps at %gs about the CPU that runs the caller. */
static inline uint64_t hrt_cpu_at_gs(uintptr_t offset) {
    uint64_t cpu;
    /* Volatile: the next one may find the thread elsewhere. The upper half becomes 0. */
    __asm__ volatile("movl %%gs:(%1), %k0" : "=r"(cpu) : "r"(offset));
    return cpu;
}

static inline uint32_t hrt_cpu_count(void) { return hrt_calls->cpu_count(); }
/* How many CPUs can run at the same time: fewer than hrt_cpu_count() in a virtual machine whose host has
 * fewer cores. There a thread that waits for another one must not spin for long: it keeps the core from it.
 * Handler-safe. */
static inline uint32_t hrt_core_count(void) { return hrt_calls->core_count(); }
/* The CPU that runs the caller, as of the call. Handler-safe. */
static inline uint32_t hrt_cpu_self(void) {
    uintptr_t offset = hrt_calls->cpu_at_gs;
    return HRT_LIKELY(offset) ? (uint32_t)hrt_cpu_at_gs(offset) : hrt_calls->cpu_self();
}
/* HRT_EINVAL: no such CPU. */
static inline int hrt_cpu_info(uint32_t cpu, struct hrt_cpu_info *info) {
    return hrt_calls->cpu_info(cpu, info, sizeof *info);
}
/* The `index`-th cache of a CPU, nearest first. HRT_ENODEV behind the last. */
static inline int hrt_cache_info(uint32_t cpu, uint32_t index, struct hrt_cache_info *info) {
    return hrt_calls->cache_info(cpu, index, info, sizeof *info);
}
static inline uint32_t hrt_zone_count(void) { return hrt_calls->zone_count(); }
static inline int hrt_zone_info(uint32_t zone, struct hrt_zone_info *info) {
    return hrt_calls->zone_info(zone, info, sizeof *info);
}
/* ACPI's relative distance: 10 is local; 0: no such zone. */
static inline uint32_t hrt_zone_distance(uint32_t from, uint32_t to) {
    return hrt_calls->zone_distance(from, to);
}

HRT_END

#endif
