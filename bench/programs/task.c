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

/* Where a task began to run, and when. */
struct begun {
    uint32_t cpu;
    BENCH_ALIGNED uint64_t ticks;
};

static void *note_begin(void *arg) {
    struct begun *begun = arg;
    begun->cpu = hrt_cpu_self();
    __atomic_store_n(&begun->ticks, bench_ticks(), __ATOMIC_RELEASE);
    return NULL;
}

/* The submitting thread never lets go of its CPU, so on Hadal a task that runs was stolen, unless there was
 * no room for it in the queue and it ran at once. Linux may also run this CPU's own worker in the thread's
 * place. */
static void steal(const char *name) {
    enum { WORTH_A_MOVE_NS = 1000000, IDLE_NS = 20000 };
    for (unsigned i = 0; i < bench_rounds(500); i++) {
        static struct begun begun;
        begun.ticks = 0;
        hrt_task_t task = {0};
        bench_delay_ns(IDLE_NS);
        uint64_t start = bench_ticks();
        BENCH_CHECK(hrt_task_submit(&task, note_begin, &begun, HRT_CPU_ANY, WORTH_A_MOVE_NS));
        while (__atomic_load_n(&begun.ticks, __ATOMIC_ACQUIRE) == 0) {
            bench_pause();
        }
        if (begun.cpu == 0 && bench_on_hadal()) {
            bench_fail("%s: the task was not stolen", name);
        }
        bench_sample(begun.ticks - start, 1);
        BENCH_CHECK(hrt_task_wait(&task, NULL));
    }
    bench_report(name);
}

static const struct bench_figure figures[] = {{"task.submit", submit}, {"task.steal", steal}};

BENCH_HRT_MAIN(figures)
