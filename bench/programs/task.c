// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Tasks: from submitting one to its end on the own CPU, and until another CPU has taken it. Linux has no such
// thing in its libc; there the same source runs over libhrt-linux.

#include "bench.h"

#include <hadal/hrt.h>

static void *nothing(void *arg) { return arg; }

static void submit(const char *name) {
    for (unsigned i = 0; i < bench_rounds(bench_choose(200, 2000)); i++) {
        hrt_task_t task = {0};
        uint64_t start = bench_ticks();
        BENCH_CHECK(hrt_task_submit(&task, nothing, NULL, HRT_CPU_ANY, 1));
        BENCH_CHECK(hrt_task_wait(&task, NULL));
        bench_sample(bench_ticks() - start, 1);
    }
    bench_report(name);
}

static void *note_start(void *arg) {
    __atomic_store_n((uint64_t *)arg, bench_ticks(), __ATOMIC_RELEASE);
    return NULL;
}

/* The submitting thread never lets go of its CPU, so each task is stolen; the sample ends where it begins to
 * run. */
static void steal(const char *name) {
    enum { WORTH_A_MOVE_NS = 1000000 };
    for (unsigned i = 0; i < bench_rounds(500); i++) {
        static BENCH_ALIGNED uint64_t started;
        started = 0;
        hrt_task_t task = {0};
        bench_delay_ns(20000); /* until the others are idle */
        uint64_t start = bench_ticks();
        BENCH_CHECK(hrt_task_submit(&task, note_start, &started, HRT_CPU_ANY, WORTH_A_MOVE_NS));
        while (__atomic_load_n(&started, __ATOMIC_ACQUIRE) == 0) {
            bench_pause();
        }
        bench_sample(started - start, 1);
        BENCH_CHECK(hrt_task_wait(&task, NULL));
    }
    bench_report(name);
}

static const struct bench_figure figures[] = {{"task.submit", submit}, {"task.steal", steal}};

BENCH_MAIN(figures)
