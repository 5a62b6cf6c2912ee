// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Broadcasts from one CPU to all others, by condition variable and by active message. Two figures of each:
// when the last has heard, and how long after the first that is. On Linux the condition variable is that of
// pthreads.

#include "bench.h"

#include <hadal/hrt.h>

enum { CPUS_MAX = 64, ROUNDS = 150, SETTLE_NS = 300000 };

/* When each CPU has heard; 0: not yet. */
struct arrival {
    BENCH_ALIGNED uint64_t ticks;
};
static struct arrival arrivals[CPUS_MAX];

/* Both figures of a mechanism come from the same rounds. */
struct rounds {
    bool measured;
    double last_ticks[ROUNDS];
    double spread_ticks[ROUNDS];
};

static void forget_arrivals(void) {
    if (bench.cpus > CPUS_MAX) {
        bench_fail("at most %d CPUs", CPUS_MAX);
    }
    for (unsigned cpu = 1; cpu < bench.cpus; cpu++) {
        __atomic_store_n(&arrivals[cpu].ticks, 0, __ATOMIC_RELAXED);
    }
}

static void note_round(struct rounds *rounds, unsigned round, uint64_t start) {
    uint64_t first = UINT64_MAX, last = 0;
    for (unsigned cpu = 1; cpu < bench.cpus; cpu++) {
        uint64_t ticks;
        while ((ticks = __atomic_load_n(&arrivals[cpu].ticks, __ATOMIC_ACQUIRE)) == 0) {
            bench_pause();
        }
        first = ticks < first ? ticks : first;
        last = ticks > last ? ticks : last;
    }
    rounds->last_ticks[round] = (double)(last - start);
    rounds->spread_ticks[round] = (double)(last - first);
}

static void report(const char *name, const double *ticks) {
    bench_warm_up = 10;
    for (unsigned i = 0; i < ROUNDS; i++) {
        bench_sample_raw(ticks[i], 1);
    }
    bench_report(name);
}

/* --- condition variable --------------------------------------------------------------------------------- */

static struct rounds condvar_rounds;
static BENCH_ALIGNED hrt_mutex_t mutex = HRT_MUTEX_INIT;
static BENCH_ALIGNED hrt_cond_t cond = HRT_COND_INIT;
static BENCH_ALIGNED pthread_mutex_t posix_mutex = PTHREAD_MUTEX_INITIALIZER;
static BENCH_ALIGNED pthread_cond_t posix_cond = PTHREAD_COND_INITIALIZER;
static unsigned sent, waiting; /* by the mutex */

static void lock(void) {
    BENCH_CHECK(bench_on_hadal() ? hrt_mutex_lock(&mutex) : pthread_mutex_lock(&posix_mutex));
}

static void unlock(void) {
    BENCH_CHECK(bench_on_hadal() ? hrt_mutex_unlock(&mutex) : pthread_mutex_unlock(&posix_mutex));
}

static void broadcast(unsigned round) {
    for (bool all = false; !all; sched_yield()) {
        lock();
        all = waiting == bench.cpus - 1;
        unlock();
    }
    bench_delay_ns(SETTLE_NS);
    lock();
    waiting = 0;
    forget_arrivals();
    sent++;
    unlock();
    uint64_t start = bench_ticks();
    BENCH_CHECK(bench_on_hadal() ? hrt_cond_broadcast(&cond, HRT_WAKE_KICK)
                                 : pthread_cond_broadcast(&posix_cond));
    note_round(&condvar_rounds, round, start);
}

/* A waiter has heard when it may go on: with the mutex. */
static void hear(unsigned member, unsigned round) {
    lock();
    waiting++;
    while (sent == round) {
        BENCH_CHECK(bench_on_hadal() ? hrt_cond_wait(&cond, &mutex)
                                     : pthread_cond_wait(&posix_cond, &posix_mutex));
    }
    __atomic_store_n(&arrivals[member].ticks, bench_ticks(), __ATOMIC_RELEASE);
    unlock();
}

static void condvar_team(unsigned member, void *arg) {
    (void)arg;
    for (unsigned round = 0; round < ROUNDS; round++) {
        if (member == 0) {
            broadcast(round);
        } else {
            hear(member, round);
        }
    }
}

static const struct rounds *condvar(void) {
    if (!condvar_rounds.measured) {
        bench_run_team(bench.cpus, condvar_team, NULL);
        condvar_rounds.measured = true;
    }
    return &condvar_rounds;
}

static void condvar_last(const char *name) { report(name, condvar()->last_ticks); }
static void condvar_spread(const char *name) { report(name, condvar()->spread_ticks); }

/* --- active message ------------------------------------------------------------------------------------- */

static struct rounds message_rounds;

static HRT_HANDLER void note_arrival(void *arg) {
    (void)arg;
    __atomic_store_n(&arrivals[hrt_cpu_self()].ticks, __builtin_ia32_rdtsc(), __ATOMIC_RELEASE);
}

/* Whether this place has active messages. */
static bool message(void) {
    uint32_t event;
    if (message_rounds.measured) {
        return true;
    }
    int status = hrt_event_register(note_arrival, NULL, 0, &event);
    if (status == HRT_ENOSYS) {
        return false;
    }
    BENCH_CHECK(status);
    for (unsigned round = 0; round < ROUNDS; round++) {
        bench_delay_ns(SETTLE_NS);
        forget_arrivals();
        uint64_t start = bench_ticks();
        BENCH_CHECK(hrt_event_notify_all(event, 0));
        note_round(&message_rounds, round, start);
    }
    BENCH_CHECK(hrt_event_unregister(event));
    message_rounds.measured = true;
    return true;
}

static void report_message(const char *name, const double *ticks) {
    if (message()) {
        report(name, ticks);
    } else {
        bench_skip(name, "this place has no active messages");
    }
}

static void message_last(const char *name) { report_message(name, message_rounds.last_ticks); }
static void message_spread(const char *name) { report_message(name, message_rounds.spread_ticks); }

static const struct bench_figure figures[] = {
    {"event.broadcast_last", condvar_last},
    {"event.broadcast_spread", condvar_spread},
    {"event.message_last", message_last},
    {"event.message_spread", message_spread},
};

BENCH_HRT_MAIN(figures)
