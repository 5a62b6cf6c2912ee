// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Locks: a pair of lock and unlock that nobody disputes, and all CPUs after the same one. On Linux spin lock
// and mutex are those of pthreads; ticket and MCS locks, which libc does not have, are the same source in
// both places.

#include "bench.h"

#include <hadal/hrt.h>

enum { PAIRS = 64, CONTENDED_BATCH = 50, CONTENDED_SAMPLES = 400 };

/* One of each, on lines of their own. */
static BENCH_ALIGNED hrt_spin_t spin_lock = HRT_SPIN_INIT;
static BENCH_ALIGNED hrt_ticket_t ticket_lock = HRT_TICKET_INIT;
static BENCH_ALIGNED hrt_mcs_t mcs_lock = HRT_MCS_INIT;
static BENCH_ALIGNED hrt_mutex_t mutex = HRT_MUTEX_INIT;
static BENCH_ALIGNED pthread_spinlock_t posix_spin;
static BENCH_ALIGNED pthread_mutex_t posix_mutex = PTHREAD_MUTEX_INITIALIZER;

/* --- a lock nobody disputes ----------------------------------------------------------------------------- */

/* Each is a function of its own, so that the pairs are compiled as in a program: inline and one after the
 * other. */
static uint64_t time_spin(void) {
    uint64_t start = bench_ticks();
    BENCH_REPEAT_64(hrt_spin_lock(&spin_lock); bench_fence(); hrt_spin_unlock(&spin_lock););
    return bench_ticks() - start;
}

static uint64_t time_ticket(void) {
    uint64_t start = bench_ticks();
    BENCH_REPEAT_64(hrt_ticket_lock(&ticket_lock); bench_fence(); hrt_ticket_unlock(&ticket_lock););
    return bench_ticks() - start;
}

static uint64_t time_mcs(void) {
    hrt_mcs_node_t node;
    uint64_t start = bench_ticks();
    BENCH_REPEAT_64(hrt_mcs_lock(&mcs_lock, &node); bench_fence(); hrt_mcs_unlock(&mcs_lock, &node););
    return bench_ticks() - start;
}

static uint64_t time_mutex(void) {
    uint64_t start = bench_ticks();
    BENCH_REPEAT_64(hrt_mutex_lock(&mutex); bench_fence(); hrt_mutex_unlock(&mutex););
    return bench_ticks() - start;
}

static uint64_t time_posix_spin(void) {
    uint64_t start = bench_ticks();
    BENCH_REPEAT_64(pthread_spin_lock(&posix_spin); bench_fence(); pthread_spin_unlock(&posix_spin););
    return bench_ticks() - start;
}

static uint64_t time_posix_mutex(void) {
    uint64_t start = bench_ticks();
    BENCH_REPEAT_64(pthread_mutex_lock(&posix_mutex); bench_fence(); pthread_mutex_unlock(&posix_mutex););
    return bench_ticks() - start;
}

static void uncontended(const char *name, uint64_t (*time_pairs)(void)) {
    for (unsigned i = 0; i < bench_rounds(bench_choose(50, 1000)); i++) {
        bench_sample(time_pairs(), PAIRS);
    }
    bench_report(name);
}

static void spin(const char *name) {
    BENCH_CHECK(pthread_spin_init(&posix_spin, PTHREAD_PROCESS_PRIVATE));
    uncontended(name, bench_on_hadal() ? time_spin : time_posix_spin);
}
static void ticket(const char *name) { uncontended(name, time_ticket); }
static void mcs(const char *name) { uncontended(name, time_mcs); }
static void mutex_figure(const char *name) {
    uncontended(name, bench_on_hadal() ? time_mutex : time_posix_mutex);
}

/* --- all CPUs after one lock ---------------------------------------------------------------------------- */

static BENCH_ALIGNED uint64_t counter;

static void count_spin(void) {
    hrt_spin_lock(&spin_lock);
    counter++;
    hrt_spin_unlock(&spin_lock);
}

static void count_ticket(void) {
    hrt_ticket_lock(&ticket_lock);
    counter++;
    hrt_ticket_unlock(&ticket_lock);
}

static void count_mcs(void) {
    hrt_mcs_node_t node;
    hrt_mcs_lock(&mcs_lock, &node);
    counter++;
    hrt_mcs_unlock(&mcs_lock, &node);
}

static void count_mutex(void) {
    hrt_mutex_lock(&mutex);
    counter++;
    hrt_mutex_unlock(&mutex);
}

static void count_posix_spin(void) {
    pthread_spin_lock(&posix_spin);
    counter++;
    pthread_spin_unlock(&posix_spin);
}

static void count_posix_mutex(void) {
    pthread_mutex_lock(&posix_mutex);
    counter++;
    pthread_mutex_unlock(&posix_mutex);
}

/* Every member counts as long as member 0 measures: batches of turns of its own. */
struct contest {
    void (*count)(void);
    BENCH_ALIGNED uint32_t over;
    BENCH_ALIGNED uint64_t turns;
};

static void compete(unsigned member, void *arg) {
    struct contest *contest = arg;
    uint64_t turns = 0;
    if (member == 0) {
        for (int i = 0; i < CONTENDED_SAMPLES; i++) {
            uint64_t before = *(volatile uint64_t *)&counter;
            uint64_t start = bench_ticks();
            for (int n = 0; n < CONTENDED_BATCH; n++) {
                contest->count();
            }
            uint64_t ticks = bench_ticks() - start;
            /* Turns of all members in that time. */
            bench_sample(ticks, (double)(*(volatile uint64_t *)&counter - before));
            turns += CONTENDED_BATCH;
        }
        __atomic_store_n(&contest->over, 1, __ATOMIC_RELEASE);
    } else {
        while (__atomic_load_n(&contest->over, __ATOMIC_ACQUIRE) == 0) {
            contest->count();
            turns++;
        }
    }
    __atomic_fetch_add(&contest->turns, turns, __ATOMIC_RELAXED);
}

static void contended(const char *name, void (*count)(void)) {
    struct contest contest = {.count = count};
    counter = 0;
    bench_run_team(bench.cpus, compete, &contest);
    if (counter != contest.turns) {
        bench_fail("%s: %llu turns, but the counter is %llu", name, (unsigned long long)contest.turns,
                   (unsigned long long)counter);
    }
    bench_report(name);
}

static void spin_contended(const char *name) {
    BENCH_CHECK(pthread_spin_init(&posix_spin, PTHREAD_PROCESS_PRIVATE));
    contended(name, bench_on_hadal() ? count_spin : count_posix_spin);
}
static void ticket_contended(const char *name) { contended(name, count_ticket); }
static void mcs_contended(const char *name) { contended(name, count_mcs); }
static void mutex_contended(const char *name) {
    contended(name, bench_on_hadal() ? count_mutex : count_posix_mutex);
}

static const struct bench_figure figures[] = {
    {"sync.spin", spin},
    {"sync.ticket", ticket},
    {"sync.mcs", mcs},
    {"sync.mutex", mutex_figure},
    {"sync.spin_contended", spin_contended},
    {"sync.ticket_contended", ticket_contended},
    {"sync.mcs_contended", mcs_contended},
    {"sync.mutex_contended", mutex_contended},
};

BENCH_HRT_MAIN(figures)
