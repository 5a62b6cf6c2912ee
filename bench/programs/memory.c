// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Memory: touching a page for the first time, and small and page-sized blocks by one CPU, by all at once,
// from the own zone and another. On Linux blocks come from malloc.

#include "bench.h"

#include <hadal/hrt.h>
#include <sys/mman.h>

enum { BLOCK_BYTES = 64, PAGE_BYTES = 4096, BATCH = 64 };

/* --- first touch ---------------------------------------------------------------------------------------- */

/* Mapping and touching 2 MiB, whatever pages the system takes for them and at whichever of the two; per 4
 * KiB. */
static void page_touch(const char *name) {
    enum { PAGES = 512 };
    bench_warm_up = 8;
    for (unsigned i = 0; i < bench_rounds(bench_choose(40, 200)); i++) {
        size_t bytes = (size_t)PAGES * PAGE_BYTES;
        uint64_t start = bench_ticks();
        volatile char *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) {
            bench_fail("mmap failed");
        }
        for (int n = 0; n < PAGES; n++) {
            page[(size_t)n * PAGE_BYTES] = 1;
        }
        bench_sample(bench_ticks() - start, PAGES);
        munmap((void *)page, bytes);
    }
    bench_report(name);
}

/* --- blocks --------------------------------------------------------------------------------------------- */

struct batch {
    uint64_t take_ticks;
    uint64_t give_back_ticks;
};

/* The two kinds are functions of their own: a choice in the loop would be part of the path. */
static struct batch time_hrt(size_t bytes, int32_t zone) {
    void *blocks[BATCH];
    uint64_t start = bench_ticks();
    for (int i = 0; i < BATCH; i++) {
        blocks[i] = hrt_alloc(bytes, zone, 0);
    }
    uint64_t middle = bench_ticks();
    for (int i = 0; i < BATCH; i++) {
        BENCH_CHECK(hrt_free(blocks[i]));
    }
    return (struct batch){middle - start, bench_ticks() - middle};
}

static struct batch time_malloc(size_t bytes) {
    void *blocks[BATCH];
    uint64_t start = bench_ticks();
    for (int i = 0; i < BATCH; i++) {
        blocks[i] = malloc(bytes);
    }
    uint64_t middle = bench_ticks();
    for (int i = 0; i < BATCH; i++) {
        free(blocks[i]);
    }
    return (struct batch){middle - start, bench_ticks() - middle};
}

static struct batch time_batch(size_t bytes, int32_t zone) {
    return bench_on_hadal() ? time_hrt(bytes, zone) : time_malloc(bytes);
}

static void alloc_of(const char *name, size_t bytes, int32_t zone) {
    for (unsigned i = 0; i < bench_rounds(bench_choose(50, 1000)); i++) {
        bench_sample(time_batch(bytes, zone).take_ticks, BATCH);
    }
    bench_report(name);
}

static void free_of(const char *name, size_t bytes) {
    for (unsigned i = 0; i < bench_rounds(bench_choose(50, 1000)); i++) {
        bench_sample(time_batch(bytes, HRT_ZONE_ANY).give_back_ticks, BATCH);
    }
    bench_report(name);
}

static void alloc(const char *name) { alloc_of(name, BLOCK_BYTES, HRT_ZONE_ANY); }
static void alloc_page(const char *name) { alloc_of(name, PAGE_BYTES, HRT_ZONE_ANY); }
static void free_figure(const char *name) { free_of(name, BLOCK_BYTES); }
static void free_page(const char *name) { free_of(name, PAGE_BYTES); }

/* --- all CPUs at once ----------------------------------------------------------------------------------- */

/* How many of the members work; the first is measured. */
struct crowd {
    BENCH_ALIGNED uint32_t over;
    BENCH_ALIGNED uint32_t busy; /* whether the others work */
};

enum { CROWD_SAMPLES = 400, CROWD_BATCHES = 8 };

static uint64_t measure_pairs(void) {
    uint64_t ticks = 0;
    for (int i = 0; i < CROWD_BATCHES; i++) {
        struct batch batch = time_batch(BLOCK_BYTES, HRT_ZONE_ANY);
        ticks += batch.take_ticks + batch.give_back_ticks;
    }
    return ticks;
}

static void follow(struct crowd *crowd) {
    while (__atomic_load_n(&crowd->over, __ATOMIC_ACQUIRE) == 0) {
        if (__atomic_load_n(&crowd->busy, __ATOMIC_ACQUIRE) != 0) {
            time_batch(BLOCK_BYTES, HRT_ZONE_ANY);
        } else {
            bench_pause(); /* computes as well: under TCG only then are both halves run alike */
        }
    }
}

static void pairs_of_all(unsigned member, void *arg) {
    struct crowd *crowd = arg;
    if (member != 0) {
        follow(crowd);
        return;
    }
    __atomic_store_n(&crowd->busy, 1, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < bench_rounds(CROWD_SAMPLES); i++) {
        bench_sample(measure_pairs(), CROWD_BATCHES * BATCH);
    }
    __atomic_store_n(&crowd->over, 1, __ATOMIC_RELEASE);
}

/* A pair of taking and giving back while all CPUs do the same. */
static void pair_all(const char *name) {
    struct crowd crowd = {0};
    bench_run_team(bench.cpus, pairs_of_all, &crowd);
    bench_report(name);
}

static void ratio_to_one(unsigned member, void *arg) {
    struct crowd *crowd = arg;
    if (member != 0) {
        follow(crowd);
        return;
    }
    for (unsigned i = 0; i < bench_rounds(CROWD_SAMPLES); i++) {
        __atomic_store_n(&crowd->busy, 0, __ATOMIC_RELEASE);
        bench_delay_ns(20000);
        uint64_t alone = measure_pairs();
        __atomic_store_n(&crowd->busy, 1, __ATOMIC_RELEASE);
        bench_delay_ns(20000);
        uint64_t together = measure_pairs();
        bench_sample_raw((double)together, (double)alone);
    }
    __atomic_store_n(&crowd->over, 1, __ATOMIC_RELEASE);
}

/* The same pair while the others do it, too, in parts of its cost while they do not. */
static void scaling(const char *name) {
    struct crowd crowd = {0};
    bench_run_team(bench.cpus, ratio_to_one, &crowd);
    bench_report_ratio(name);
}

/* --- zones ---------------------------------------------------------------------------------------------- */

static void of_zone(const char *name, int32_t zone) {
    if (!bench_on_hadal()) {
        bench_skip(name, "malloc knows no zones");
    } else if (hrt_zone_count() < 2) {
        bench_skip(name, "the machine has one zone");
    } else {
        alloc_of(name, PAGE_BYTES, zone);
    }
}

/* CPU 0 is in zone 0. */
static void alloc_local(const char *name) { of_zone(name, 0); }
static void alloc_remote(const char *name) { of_zone(name, 1); }

static const struct bench_figure figures[] = {
    {"memory.page_touch", page_touch},     {"memory.alloc", alloc},
    {"memory.free", free_figure},          {"memory.alloc_page", alloc_page},
    {"memory.free_page", free_page},       {"memory.pair_all", pair_all},
    {"memory.alloc_scaling", scaling},     {"memory.alloc_local", alloc_local},
    {"memory.alloc_remote", alloc_remote},
};

BENCH_HRT_MAIN(figures)
