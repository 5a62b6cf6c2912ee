// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Barriers by algorithm and number of CPUs: from a member's arrival to its departure when all come at once.
// On Linux each algorithm stands beside the one barrier of pthreads.

#include "bench.h"

#include <hadal/hrt.h>

enum { EPISODES = 10 };

static hrt_barrier_t barrier;
static pthread_barrier_t posix_barrier;

/* Fewer where a host core must carry several CPUs: a spinning member then waits for the host's scheduler. */
static unsigned samples(void) { return bench.cpus <= 2 ? 1000 : 100; }

static void wait_hrt(unsigned member) { hrt_barrier_wait_rank(&barrier, member); }

static void wait_posix(unsigned member) {
    (void)member;
    pthread_barrier_wait(&posix_barrier);
}

static void meet(unsigned member, void *arg) {
    void (*const *wait)(unsigned member) = arg;
    for (unsigned i = 0; i < bench_rounds(samples()); i++) {
        uint64_t start = bench_ticks();
        for (int n = 0; n < EPISODES; n++) {
            (*wait)(member);
        }
        if (member == 0) {
            bench_sample(bench_ticks() - start, EPISODES);
        }
    }
}

static void measure(const char *name, enum hrt_barrier_algorithm algorithm) {
    bench_warm_up = 10;
    void (*wait)(unsigned member) = bench_on_hadal() ? wait_hrt : wait_posix;
    if (bench_on_hadal()) {
        BENCH_CHECK(hrt_barrier_init(&barrier, bench.cpus, algorithm, NULL));
        bench_run_team(bench.cpus, meet, &wait);
        BENCH_CHECK(hrt_barrier_destroy(&barrier));
    } else {
        BENCH_CHECK(pthread_barrier_init(&posix_barrier, NULL, bench.cpus));
        bench_run_team(bench.cpus, meet, &wait);
        BENCH_CHECK(pthread_barrier_destroy(&posix_barrier));
    }
    bench_report(name);
}

static void central(const char *name) { measure(name, HRT_BARRIER_CENTRAL); }
static void dissemination(const char *name) { measure(name, HRT_BARRIER_DISSEMINATION); }
static void tree(const char *name) { measure(name, HRT_BARRIER_TREE); }

static const struct bench_figure figures[] = {
    {"barrier.central", central}, {"barrier.dissemination", dissemination}, {"barrier.tree", tree}};

BENCH_HRT_MAIN(figures)
