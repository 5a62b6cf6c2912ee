/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the tests of events, interrupts and timers share. */
#ifndef EVENT_H
#define EVENT_H

#include "../common/check.h"
#include "places.h"

#include <sched.h>

#define CPUS_MAX 1024

/* Waits for something that another CPU does; the test's time limit ends it if that never happens. */
#define UNTIL(condition)                                                                                     \
    while (!(condition)) {                                                                                   \
        sched_yield();                                                                                       \
    }

/* A counter for each CPU, on lines of their own. */
struct counter {
    _Alignas(128) uint64_t value;
};

static inline HRT_HANDLER uint64_t count_of(const struct counter *counter) {
    return __atomic_load_n(&counter->value, __ATOMIC_ACQUIRE);
}

static inline HRT_HANDLER void count(struct counter *counter) {
    __atomic_fetch_add(&counter->value, 1, __ATOMIC_ACQ_REL);
}

static inline uint32_t cpus(void) { return hrt_cpu_count(); }

/* Sets the counters of all CPUs to 0. Before the first handler, too: it must find their memory there. */
static inline void clear(struct counter *counters) {
    for (uint32_t cpu = 0; cpu < cpus(); cpu++) {
        __atomic_store_n(&counters[cpu].value, 0, __ATOMIC_RELEASE);
    }
}

/* Binds the calling thread to a CPU. */
static inline void run_on(uint32_t cpu) { CHECK(hrt_thread_bind(hrt_thread_self(), (int32_t)cpu) == HRT_OK); }

#endif
