// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Timers: how late one fires, and how much that varies. Hadal's callback runs in interrupt context; Linux's
// best is a thread that sleeps until an absolute time.

#include "bench.h"

#include <errno.h>
#include <hadal/hrt.h>

enum { AHEAD_NS = 300000, SHOTS = 600 };

static BENCH_ALIGNED uint64_t fired_ns;

static HRT_HANDLER void note_time(void *arg) {
    (void)arg;
    __atomic_store_n(&fired_ns, hrt_now_ns(), __ATOMIC_RELEASE);
}

/* Nanoseconds after the deadline. */
static double shot_on_hadal(void) {
    fired_ns = 0;
    uint64_t timer, deadline_ns = hrt_now_ns() + AHEAD_NS;
    BENCH_CHECK(hrt_timer_start(HRT_CPU_ANY, deadline_ns, note_time, NULL, 0, &timer));
    while (__atomic_load_n(&fired_ns, __ATOMIC_ACQUIRE) == 0) {
        bench_pause();
    }
    return (double)fired_ns - (double)deadline_ns;
}

static double shot_on_linux(void) {
    uint64_t deadline_ns = bench_now_ns() + AHEAD_NS;
    struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / 1000000000u),
                                .tv_nsec = (long)(deadline_ns % 1000000000u)};
    int status;
    do {
        status = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL);
    } while (status == EINTR);
    uint64_t now_ns = bench_now_ns();
    BENCH_CHECK(status);
    return (double)now_ns - (double)deadline_ns;
}

static double shot(void) { return bench_on_hadal() ? shot_on_hadal() : shot_on_linux(); }

static void accuracy(const char *name) {
    for (unsigned i = 0; i < bench_rounds(SHOTS); i++) {
        bench_sample_raw(shot(), 1);
    }
    bench_report_ns(name);
}

/* From one shot to the next. */
static void jitter(const char *name) {
    double before = shot();
    for (unsigned i = 0; i < bench_rounds(SHOTS); i++) {
        double late = shot();
        bench_sample_raw(late > before ? late - before : before - late, 1);
        before = late;
    }
    bench_report_ns(name);
}

static const struct bench_figure figures[] = {{"timer.accuracy", accuracy}, {"timer.jitter", jitter}};

BENCH_HRT_MAIN(figures)
