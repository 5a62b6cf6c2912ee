/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Generated from abi/hrt/src/topology.rs, which is the place for changes. */
/* clang-format off */

#ifndef HADAL_HRT_LAYOUT_TOPOLOGY_H
#define HADAL_HRT_LAYOUT_TOPOLOGY_H

#include "../base.h"

// What a cache keeps.
enum hrt_cache_kind {
    // Data.
    HRT_CACHE_DATA = 1,
    // Instructions.
    HRT_CACHE_INSTRUCTION = 2,
    // Both.
    HRT_CACHE_UNIFIED = 3,
};

// Where a CPU is.
struct hrt_cpu_info {
    // Its number.
    uint32_t cpu;
    // Its number in the machine's interrupt controllers.
    uint32_t apic_id;
    // Socket.
    uint32_t socket;
    // Core within the socket.
    uint32_t core;
    // Hardware thread within the core.
    uint32_t thread;
    // The zone whose memory is local.
    uint32_t zone;
};

// A cache of a CPU.
struct hrt_cache_info {
    // 1 is the nearest.
    uint32_t level;
    // enum hrt_cache_kind: 1 for data, 2 for instructions, 3 for both.
    uint32_t kind;
    // Size.
    uint64_t bytes;
    // Size of a line.
    uint32_t line_bytes;
    // Associativity.
    uint32_t ways;
    // The lowest CPU that shares it.
    uint32_t first_cpu;
    // How many CPUs share it.
    uint32_t cpus;
};

// A zone: memory, and the CPUs to which it is local.
struct hrt_zone_info {
    // Its number.
    uint32_t zone;
    // How many CPUs are local to it.
    uint32_t cpus;
    // Memory of the zone.
    uint64_t total_bytes;
    // Free memory, as of the call.
    uint64_t free_bytes;
    // Given out by hrt_alloc().
    uint64_t hrt_bytes;
    // hrt_alloc() calls served from it.
    uint64_t allocations;
    // Free blocks of at least 2 MiB, as of the call.
    uint64_t huge_pages_total;
};

#endif  /* HADAL_HRT_LAYOUT_TOPOLOGY_H */
