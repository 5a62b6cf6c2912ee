// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Fibers: a switch from one to another of the same thread. The same source in every place.

#include "bench.h"

#include <hadal/hrt.h>

enum { SWITCHES = 64 };

static bool stop;

static void *give_way(void *arg) {
    while (!*(volatile bool *)&stop) {
        hrt_fiber_yield();
    }
    return arg;
}

static void switch_figure(const char *name) {
    hrt_fiber_t *fiber;
    BENCH_CHECK(hrt_fiber_create(&fiber, give_way, NULL, 0));
    for (unsigned i = 0; i < bench_rounds(bench_choose(50, 1000)); i++) {
        uint64_t start = bench_ticks();
        for (int n = 0; n < SWITCHES; n++) {
            hrt_fiber_yield();
        }
        /* There and back. */
        bench_sample(bench_ticks() - start, 2 * SWITCHES);
    }
    stop = true;
    BENCH_CHECK(hrt_fiber_join(fiber, NULL));
    bench_report(name);
}

/* A fiber that is made, runs and is joined. */
static void create_join(const char *name) {
    stop = true;
    for (unsigned i = 0; i < bench_rounds(bench_choose(100, 1000)); i++) {
        hrt_fiber_t *fiber;
        uint64_t start = bench_ticks();
        BENCH_CHECK(hrt_fiber_create(&fiber, give_way, NULL, 0));
        BENCH_CHECK(hrt_fiber_join(fiber, NULL));
        bench_sample(bench_ticks() - start, 1);
    }
    bench_report(name);
}

static const struct bench_figure figures[] = {{"fiber.switch", switch_figure},
                                              {"fiber.create_join", create_join}};

BENCH_HRT_MAIN(figures)
