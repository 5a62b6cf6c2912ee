// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What the system takes from a program that only computes: the same work again and again on every CPU. Each
// sample is one quantum of work, so everything above the least of them is somebody else's.

#include "bench.h"

enum { QUANTA = 2000 };

/* Long against a clock reading, short against a tick: 20,000 dependent steps. */
static uint32_t work(uint32_t seed) {
    for (int i = 0; i < 20000; i++) {
        seed = seed * 1664525u + 1013904223u;
        __asm__ volatile("" : "+r"(seed));
    }
    return seed;
}

static uint64_t *quanta;

static void measure(unsigned member, void *arg) {
    (void)arg;
    uint64_t *own = quanta + (size_t)member * QUANTA;
    uint32_t seed = member;
    for (int i = 0; i < QUANTA; i++) {
        uint64_t start = bench_ticks();
        seed = work(seed);
        own[i] = bench_ticks() - start;
    }
}

static void fixed_work(const char *name) {
    size_t count = (size_t)bench.cpus * QUANTA;
    quanta = calloc(count, sizeof *quanta);
    if (quanta == NULL) {
        bench_fail("no memory");
    }
    bench_run_team(bench.cpus, measure, NULL);
    for (size_t i = 0; i < count; i++) {
        bench_sample(quanta[i], 1);
    }
    free(quanta);
    bench_report(name);
}

static const struct bench_figure figures[] = {{"noise.fixed_work", fixed_work}};

BENCH_MAIN(figures)
