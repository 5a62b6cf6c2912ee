// SPDX-License-Identifier: Apache-2.0 OR MIT
// Memory, topology, clocks, and what the boot brought.
#include "parts.h"

static void fill(char *block, uint64_t bytes) {
    for (uint64_t at = 0; at < bytes; at += 512) {
        block[at] = (char)at;
    }
    block[bytes - 1] = 1;
}

void memory(void) {
    static const uint64_t sizes[] = {1, 16, 100, 4096, 5000, 65536, 1u << 20, 2u << 20, 3u << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *block = hrt_alloc(sizes[i], HRT_ZONE_ANY, HRT_ALLOC_ZERO);
        CHECK(block != NULL);
        CHECK_EQUAL((uintptr_t)block % 16, 0);
        for (uint64_t at = 0; at < sizes[i]; at += 64) {
            CHECK_EQUAL(block[at], 0);
        }
        fill(block, sizes[i]);
        CHECK(hrt_usable_bytes(block) >= sizes[i]);
        CHECK(hrt_zone_of(block) >= 0 && hrt_zone_of(block) < (int32_t)hrt_zone_count());
        if (sizes[i] >= 2u << 20) {
            CHECK_EQUAL((uintptr_t)block % (2u << 20), 0);
        }
        CHECK_EQUAL(hrt_free(block + 1), HRT_EINVAL);
        CHECK_EQUAL(hrt_free(block), HRT_OK);
        CHECK_EQUAL(hrt_free(block), HRT_EINVAL);
        CHECK_EQUAL(hrt_usable_bytes(block), 0);
        CHECK_EQUAL(hrt_zone_of(block), -1);
    }
    for (uint64_t align = 1; align <= 1u << 22; align *= 2) {
        void *block = hrt_alloc_aligned(100, align, HRT_ZONE_ANY, 0);
        CHECK(block != NULL);
        CHECK_EQUAL((uintptr_t)block % align, 0);
        CHECK_EQUAL(hrt_free(block), HRT_OK);
    }
    for (uint32_t zone = 0; zone < hrt_zone_count(); zone++) {
        struct hrt_zone_info before, after;
        CHECK_EQUAL(hrt_zone_info(zone, &before), HRT_OK);
        char *block = hrt_alloc(100000, (int32_t)zone, HRT_ALLOC_STRICT);
        CHECK(block != NULL);
        fill(block, 100000);
        CHECK_EQUAL(hrt_zone_of(block), zone);
        CHECK_EQUAL(hrt_zone_info(zone, &after), HRT_OK);
        CHECK(after.hrt_bytes >= before.hrt_bytes + 100000 && after.allocations > before.allocations);
        CHECK_EQUAL(hrt_free(block), HRT_OK);
        block = hrt_alloc(1000, 0, HRT_ALLOC_INTERLEAVE);
        CHECK(block != NULL);
        CHECK_EQUAL(hrt_free(block), HRT_OK);
    }
    char *huge = hrt_alloc(1000, HRT_ZONE_ANY, HRT_ALLOC_HUGE);
    CHECK(huge != NULL);
    CHECK(hrt_usable_bytes(huge) >= 2u << 20);
    CHECK_EQUAL(hrt_free(huge), HRT_OK);

    int local;
    CHECK(hrt_alloc(0, HRT_ZONE_ANY, 0) == NULL);
    CHECK(hrt_alloc(UINT64_MAX, HRT_ZONE_ANY, 0) == NULL);
    CHECK(hrt_alloc(100, (int32_t)hrt_zone_count(), 0) == NULL);
    CHECK(hrt_alloc(100, -2, 0) == NULL);
    CHECK(hrt_alloc(100, HRT_ZONE_ANY, 1u << 30) == NULL);
    CHECK(hrt_alloc_aligned(100, 3, HRT_ZONE_ANY, 0) == NULL);
    CHECK(hrt_alloc_aligned(100, 0, HRT_ZONE_ANY, 0) == NULL);
    CHECK(hrt_alloc_aligned(100, 1ull << 31, HRT_ZONE_ANY, 0) == NULL);
    CHECK_EQUAL(hrt_free(NULL), HRT_OK);
    CHECK_EQUAL(hrt_free(&local), HRT_EINVAL);
    CHECK_EQUAL(hrt_free((void *)8), HRT_EINVAL);
    CHECK_EQUAL(hrt_usable_bytes(NULL), 0);
}

void topology(void) {
    struct hrt_cpu_info cpu;
    struct hrt_zone_info zone;
    struct hrt_cache_info cache;
    uint32_t cpus = hrt_cpu_count(), zones = hrt_zone_count(), counted = 0;
    CHECK(hrt_core_count() >= 1 && hrt_core_count() <= cpus);
    CHECK(cpus >= 1 && zones >= 1);
    CHECK(hrt_cpu_self() < cpus);
    for (uint32_t i = 0; i < cpus; i++) {
        CHECK_EQUAL(hrt_cpu_info(i, &cpu), HRT_OK);
        CHECK_EQUAL(cpu.cpu, i);
        CHECK(cpu.zone < zones);
        uint32_t index = 0;
        while (hrt_cache_info(i, index, &cache) == HRT_OK) {
            CHECK(cache.level >= 1 && cache.kind >= HRT_CACHE_DATA && cache.kind <= HRT_CACHE_UNIFIED);
            CHECK(cache.bytes > 0 && cache.first_cpu <= i && cache.cpus >= 1);
            index++;
        }
        CHECK_EQUAL(hrt_cache_info(i, index, &cache), HRT_ENODEV);
    }
    for (uint32_t i = 0; i < zones; i++) {
        CHECK_EQUAL(hrt_zone_info(i, &zone), HRT_OK);
        CHECK(zone.total_bytes > 0 && zone.free_bytes <= zone.total_bytes);
        counted += zone.cpus;
        CHECK_EQUAL(hrt_zone_distance(i, i), 10);
        for (uint32_t other = 0; other < zones; other++) {
            CHECK(hrt_zone_distance(i, other) >= 10);
        }
    }
    CHECK_EQUAL(counted, cpus);
    CHECK_EQUAL(hrt_cpu_info(cpus, &cpu), HRT_EINVAL);
    CHECK_EQUAL(hrt_cache_info(cpus, 0, &cache), HRT_EINVAL);
    CHECK_EQUAL(hrt_zone_info(zones, &zone), HRT_EINVAL);
    CHECK_EQUAL(hrt_zone_distance(zones, 0), 0);
    CHECK_EQUAL(hrt_zone_distance(0, zones), 0);

    uint64_t before = hrt_now_ns(), ticks = hrt_cycles();
    CHECK_EQUAL(hrt_thread_sleep_until(before + 1000000), HRT_OK);
    CHECK(hrt_now_ns() >= before + 1000000 && hrt_cycles() > ticks);
}

void modules(void) {
    struct hrt_module module;
    uint32_t count = 0;
    while (hrt_module(count, &module) == HRT_OK) {
        CHECK(module.name != NULL && module.data != NULL);
        count++;
    }
    CHECK_EQUAL(hrt_module(count, &module), HRT_ENODEV);
    CHECK_EQUAL(hrt_module(UINT32_MAX, &module), HRT_ENODEV);
    CHECK(hrt_command_line() != NULL);
}
