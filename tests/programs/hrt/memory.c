/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Topology, and memory from the kernel: places, sizes, alignment, what system calls make of it, and misuse.
 * The argument is the number of zones on the kernel. */
#include "../common/check.h"
#include "places.h"

#include <fcntl.h>
#include <hadal/hrt/memory.h>
#include <hadal/hrt/topology.h>
#include <string.h>

enum { BLOCKS = 300, ROUNDS = 40 };

static void topology(uint32_t zones) {
    uint32_t cpus = 0;
    for (uint32_t zone = 0; zone < zones; zone++) {
        struct hrt_zone_info info;
        CHECK(hrt_zone_info(zone, &info) == HRT_OK && info.zone == zone && info.cpus > 0);
        CHECK(info.total_bytes > 0);
        /* A zone that gave nothing away yet is all free. */
        CHECK(info.free_bytes <= info.total_bytes);
        CHECK(!has(OWN_MEMORY) || info.huge_pages_total > 0);
        cpus += info.cpus;
        CHECK(hrt_zone_distance(zone, zone) == 10);
        CHECK(hrt_zone_distance(zone, zones) == 0 && hrt_zone_distance(zones, zone) == 0);
    }
    CHECK(cpus == hrt_cpu_count());
    for (uint32_t cpu = 0; cpu < cpus; cpu++) {
        struct hrt_cpu_info info;
        CHECK(hrt_cpu_info(cpu, &info) == HRT_OK && info.cpu == cpu && info.zone < zones);
        struct hrt_cache_info cache;
        uint32_t index = 0;
        for (; hrt_cache_info(cpu, index, &cache) == HRT_OK; index++) {
            CHECK(cache.level >= 1 && cache.bytes >= 1024 && cache.line_bytes >= 16 && cache.cpus >= 1);
            CHECK(cache.first_cpu <= cpu);
        }
        CHECK(hrt_cache_info(cpu, index, &cache) == HRT_ENODEV);
    }
    struct hrt_cpu_info info;
    CHECK(hrt_cpu_info(cpus, &info) == HRT_EINVAL);
    CHECK(!has(CHECKED_POINTERS) || hrt_cpu_info(0, (void *)8) == HRT_EFAULT);
    struct hrt_zone_info zone;
    CHECK(hrt_zone_info(zones, &zone) == HRT_EINVAL);
}

static uint64_t given(uint32_t zones) {
    uint64_t bytes = 0;
    for (uint32_t zone = 0; zone < zones; zone++) {
        struct hrt_zone_info info;
        CHECK(hrt_zone_info(zone, &info) == HRT_OK);
        bytes += info.hrt_bytes;
    }
    return bytes;
}

static void places(uint32_t zones) {
    for (uint64_t bytes = 1; bytes <= 4 << 20; bytes = bytes * 3 + 1) {
        for (int32_t zone = -1; zone < (int32_t)zones; zone++) {
            unsigned char *block = hrt_alloc(bytes, zone, HRT_ALLOC_STRICT | HRT_ALLOC_ZERO);
            CHECK(block != NULL && hrt_usable_bytes(block) >= bytes);
            CHECK(zone < 0 || hrt_zone_of(block) == zone);
            CHECK(block[0] == 0 && block[bytes / 2] == 0 && block[bytes - 1] == 0);
            memset(block, 0xa5, hrt_usable_bytes(block));
            CHECK(hrt_free(block) == HRT_OK && hrt_free(block) == HRT_EINVAL);
        }
    }
    for (uint64_t align = 1; align <= 4 << 20; align *= 2) {
        void *block = hrt_alloc_aligned(24, align, HRT_ZONE_ANY, 0);
        CHECK(block != NULL && (uintptr_t)block % align == 0 && hrt_free(block) == HRT_OK);
    }
    void *huge = hrt_alloc(1, HRT_ZONE_ANY, HRT_ALLOC_HUGE);
    CHECK(huge != NULL && (uintptr_t)huge % (2 << 20) == 0 && hrt_usable_bytes(huge) >= 2 << 20);
    CHECK(hrt_free(huge) == HRT_OK);
    int32_t seen = 0;
    for (uint32_t i = 0; i < zones; i++) {
        void *block = hrt_alloc(4096, HRT_ZONE_ANY, HRT_ALLOC_INTERLEAVE);
        CHECK(block != NULL);
        seen |= 1 << hrt_zone_of(block);
        CHECK(hrt_free(block) == HRT_OK);
    }
    CHECK(seen == (1 << zones) - 1);
}

static void misuse(uint32_t zones) {
    CHECK(hrt_alloc(0, HRT_ZONE_ANY, 0) == NULL && hrt_alloc(16, (int32_t)zones, 0) == NULL);
    CHECK(hrt_alloc(16, -2, 0) == NULL && hrt_alloc(16, HRT_ZONE_ANY, 0x100) == NULL);
    CHECK(hrt_alloc(UINT64_MAX, HRT_ZONE_ANY, 0) == NULL);
    CHECK(hrt_alloc_aligned(16, 24, HRT_ZONE_ANY, 0) == NULL);
    int local = 0;
    CHECK(hrt_free(NULL) == HRT_OK && hrt_free(&local) == HRT_EINVAL);
    CHECK(hrt_free((void *)(uintptr_t)hrt_calls) == HRT_EINVAL);
    char *block = hrt_alloc(100, HRT_ZONE_ANY, 0);
    CHECK(hrt_free(block + 16) == HRT_EINVAL && hrt_usable_bytes(block + 1) == 0);
    CHECK(hrt_free(block) == HRT_OK);
}

/* What the program got may be handed to the kernel, nothing else of its half may. */
static void calls(void) {
    char *block = hrt_alloc(3 << 20, HRT_ZONE_ANY, HRT_ALLOC_ZERO);
    int file = open("/dev/zero", O_RDONLY), out = open("/dev/null", O_WRONLY);
    CHECK(file >= 0 && out >= 0 && block != NULL);
    memset(block, 1, 3 << 20);
    CHECK(read(file, block + 5000, 2 << 20) == 2 << 20);
    CHECK(block[4999] == 1 && block[5000] == 0 && block[5000 + (2 << 20)] == 1);
    CHECK(write(out, block, 3 << 20) == 3 << 20);
    uint32_t *word = (uint32_t *)(block + 64);
    CHECK(hrt_calls->wait(word, *word, hrt_now_ns() + 1000000, 0) == HRT_ETIMEDOUT);
    uint32_t key = 0;
    CHECK(read(file, (void *)((uintptr_t)hrt_calls & ~4095ul), 8) == -1);
    CHECK(hrt_free(block) == HRT_OK && read(file, block, 8) == -1);
    CHECK(hrt_calls->wait(word, key, hrt_now_ns() + 1000000, 0) == HRT_EFAULT);
    close(file);
    close(out);
}

/* Every CPU allocates, and frees what another one has. */
static unsigned char *exchange[BLOCKS];

static void *trade(void *arg) {
    unsigned seed = (unsigned)(uintptr_t)arg;
    for (int round = 0; round < ROUNDS * BLOCKS; round++) {
        seed = seed * 1103515245 + 12345;
        uint64_t bytes = 1 + (seed >> 8) % (round % 16 ? 3000 : 100000);
        unsigned char *block = hrt_alloc(bytes, HRT_ZONE_ANY, 0);
        CHECK(block != NULL);
        memset(block, (int)(uintptr_t)block >> 4, bytes < 64 ? bytes : 64);
        block = __atomic_exchange_n(&exchange[(seed >> 4) % BLOCKS], block, __ATOMIC_ACQ_REL);
        if (block) {
            CHECK(block[0] == (unsigned char)((uintptr_t)block >> 4) && hrt_free(block) == HRT_OK);
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    uint32_t zones = hrt_zone_count();
    CHECK(!has(OWN_MEMORY) || argc < 2 || zones == (uint32_t)atoi(argv[1]));
    topology(zones);
    uint64_t before = given(zones);
    places(zones);
    misuse(zones);
    if (has(DIRECT_MEMORY)) {
        calls();
    }
    struct hrt_thread_attr attr;
    hrt_thread_attr_init(&attr);
    for (attr.cpu = 0; attr.cpu < (int32_t)hrt_cpu_count(); attr.cpu++) {
        CHECK(hrt_thread_create(NULL, &attr, trade, (void *)(uintptr_t)attr.cpu) == HRT_OK);
    }
    CHECK(hrt_thread_join_all() == HRT_OK);
    for (int i = 0; i < BLOCKS; i++) {
        CHECK(hrt_free(exchange[i]) == HRT_OK);
    }
    CHECK(given(zones) == before);
    puts("memory works");
    return 0;
}
