// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What a program with pthreads pays: threads, hand-offs between two of them, locks, barriers. The same source
// in every place. In an image these functions are those of libhrt-pthread, everywhere else those of libc.

#include "bench.h"

#include <linux/futex.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *nothing(void *arg) { return arg; }

/* --- threads -------------------------------------------------------------------------------------------- */

static void create_join_pairs(void) {
    BENCH_TIME(200, 1000, {
        pthread_t thread;
        BENCH_CHECK(pthread_create(&thread, NULL, nothing, NULL));
        BENCH_CHECK(pthread_join(thread, NULL));
    });
}

/* The creating thread may run anywhere, and so may those that it makes. */
static void create_join(const char *name) {
    bench_unpin();
    create_join_pairs();
    bench_pin(0);
    bench_report(name);
}

/* The creating thread is bound to CPU 0; those that it makes inherit that. */
static void create_join_pinned(const char *name) {
    create_join_pairs();
    bench_report(name);
}

/* --- hand-offs ------------------------------------------------------------------------------------------ */

/* Two threads in turn: each lets the other one go on and waits until it is let go itself. */
struct hand_off {
    void (*wake)(unsigned side);
    void (*await)(unsigned side);
    bool over; /* written before the last wake */
};

static void *partner_main(void *arg) {
    struct hand_off *hand_off = arg;
    bench_pin(bench_other_cpu());
    for (;;) {
        hand_off->await(1);
        if (hand_off->over) {
            return NULL;
        }
        hand_off->wake(0);
    }
}

/* There and back. */
static void round_trips(const char *name, struct hand_off hand_off) {
    pthread_t thread;
    BENCH_CHECK(pthread_create(&thread, NULL, partner_main, &hand_off));
    BENCH_TIME(200, 2000, {
        hand_off.wake(1);
        hand_off.await(0);
    });
    hand_off.over = true;
    hand_off.wake(1);
    BENCH_CHECK(pthread_join(thread, NULL));
    bench_report(name);
}

static pthread_mutex_t turn_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_conds[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
static bool turns[2];

static void cond_wake(unsigned side) {
    BENCH_CHECK(pthread_mutex_lock(&turn_mutex));
    turns[side] = true;
    BENCH_CHECK(pthread_cond_signal(&turn_conds[side]));
    BENCH_CHECK(pthread_mutex_unlock(&turn_mutex));
}

static void cond_await(unsigned side) {
    BENCH_CHECK(pthread_mutex_lock(&turn_mutex));
    while (!turns[side]) {
        BENCH_CHECK(pthread_cond_wait(&turn_conds[side], &turn_mutex));
    }
    turns[side] = false;
    BENCH_CHECK(pthread_mutex_unlock(&turn_mutex));
}

static void cond_ping_pong(const char *name) {
    round_trips(name, (struct hand_off){.wake = cond_wake, .await = cond_await});
}

static sem_t semaphores[2];

static void sem_wake(unsigned side) { BENCH_EXPECT(sem_post(&semaphores[side]), 0); }
static void sem_await(unsigned side) { BENCH_EXPECT(sem_wait(&semaphores[side]), 0); }

static void sem_ping_pong(const char *name) {
    for (unsigned side = 0; side < 2; side++) {
        BENCH_EXPECT(sem_init(&semaphores[side], 0, 0), 0);
    }
    round_trips(name, (struct hand_off){.wake = sem_wake, .await = sem_await});
}

static BENCH_ALIGNED uint32_t futexes[2];

static void futex_wake(unsigned side) {
    __atomic_store_n(&futexes[side], 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &futexes[side], FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void futex_await(unsigned side) {
    while (__atomic_load_n(&futexes[side], __ATOMIC_ACQUIRE) == 0) {
        syscall(SYS_futex, &futexes[side], FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    }
    __atomic_store_n(&futexes[side], 0, __ATOMIC_RELAXED);
}

static void futex_ping_pong(const char *name) {
    round_trips(name, (struct hand_off){.wake = futex_wake, .await = futex_await});
}

/* --- locks ---------------------------------------------------------------------------------------------- */

enum { PAIRS = 64 };

static BENCH_ALIGNED pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static BENCH_ALIGNED pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static BENCH_ALIGNED sem_t semaphore;

#define TIME_PAIRS(...)                                                                                      \
    for (unsigned i = 0; i < bench_rounds(bench_choose(50, 1000)); i++) {                                    \
        uint64_t start = bench_ticks();                                                                      \
        BENCH_REPEAT_64(__VA_ARGS__);                                                                        \
        bench_sample(bench_ticks() - start, PAIRS);                                                          \
    }

static void mutex_pair(const char *name) {
    TIME_PAIRS(pthread_mutex_lock(&mutex); bench_fence(); pthread_mutex_unlock(&mutex););
    bench_report(name);
}

static void rwlock_pair(const char *name) {
    TIME_PAIRS(pthread_rwlock_rdlock(&rwlock); bench_fence(); pthread_rwlock_unlock(&rwlock););
    bench_report(name);
}

static void sem_pair(const char *name) {
    BENCH_EXPECT(sem_init(&semaphore, 0, 0), 0);
    TIME_PAIRS(sem_post(&semaphore); bench_fence(); sem_wait(&semaphore););
    bench_report(name);
}

/* --- one lock that all want ----------------------------------------------------------------------------- */

enum { CPUS_MAX = 64, WINDOW_NS = 2000000, WINDOWS = 100 };

struct turns {
    BENCH_ALIGNED uint64_t taken;
};

/* All members take and give back as long as member 0 looks. */
static struct turns contest[CPUS_MAX];
static BENCH_ALIGNED uint32_t contest_over;
static bool wants_fairness;
static uint64_t window_ticks;

static uint64_t taken_by(unsigned member) {
    return __atomic_load_n(&contest[member].taken, __ATOMIC_RELAXED);
}

static void take_turn(unsigned member) {
    BENCH_CHECK(pthread_mutex_lock(&mutex));
    __atomic_store_n(&contest[member].taken, contest[member].taken + 1, __ATOMIC_RELAXED);
    BENCH_CHECK(pthread_mutex_unlock(&mutex));
}

/* One window: time per turn of anybody, or the largest member's part in multiples of an equal one. */
static void watch_window(void) {
    uint64_t before[CPUS_MAX], all = 0, most = 0;
    for (unsigned member = 0; member < bench.cpus; member++) {
        before[member] = taken_by(member);
    }
    uint64_t start = bench_ticks();
    uint64_t end = start + window_ticks, now;
    do {
        take_turn(0);
        now = bench_ticks();
    } while (now < end);
    for (unsigned member = 0; member < bench.cpus; member++) {
        uint64_t own = taken_by(member) - before[member];
        all += own;
        most = own > most ? own : most;
    }
    if (wants_fairness) {
        bench_sample_raw((double)most * bench.cpus, (double)all);
    } else {
        bench_sample_raw((double)(now - start), (double)all);
    }
}

static void compete(unsigned member, void *arg) {
    (void)arg;
    if (member == 0) {
        for (unsigned i = 0; i < bench_rounds(WINDOWS); i++) {
            watch_window();
        }
        __atomic_store_n(&contest_over, 1, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&contest_over, __ATOMIC_ACQUIRE) == 0) {
        take_turn(member);
    }
}

static void run_contest(bool fairness) {
    if (bench.cpus > CPUS_MAX) {
        bench_fail("at most %d CPUs", CPUS_MAX);
    }
    memset(contest, 0, sizeof contest);
    contest_over = 0;
    wants_fairness = fairness;
    window_ticks = (uint64_t)(WINDOW_NS / bench_ns_per_tick());
    bench_warm_up = 5;
    bench_run_team(bench.cpus, compete, NULL);
}

static void mutex_contended(const char *name) {
    run_contest(false);
    bench_report(name);
}

static void mutex_fairness(const char *name) {
    run_contest(true);
    bench_report_ratio(name);
}

/* --- barriers ------------------------------------------------------------------------------------------- */

enum { EPISODES = 10 };

static pthread_barrier_t barrier;

/* Fewer where a host core must carry several CPUs. */
static unsigned meetings(void) { return bench.cpus <= 2 ? 1000 : 100; }

static void meet(unsigned member, void *arg) {
    (void)arg;
    for (unsigned i = 0; i < bench_rounds(meetings()); i++) {
        uint64_t start = bench_ticks();
        for (int n = 0; n < EPISODES; n++) {
            pthread_barrier_wait(&barrier);
        }
        if (member == 0) {
            bench_sample(bench_ticks() - start, EPISODES);
        }
    }
}

static void barrier_figure(const char *name) {
    bench_warm_up = 10;
    BENCH_CHECK(pthread_barrier_init(&barrier, NULL, bench.cpus));
    bench_run_team(bench.cpus, meet, NULL);
    BENCH_CHECK(pthread_barrier_destroy(&barrier));
    bench_report(name);
}

static const struct bench_figure figures[] = {
    {"pthread.create_join", create_join},
    {"pthread.create_join_pinned", create_join_pinned},
    {"pthread.cond_ping_pong", cond_ping_pong},
    {"pthread.sem_ping_pong", sem_ping_pong},
    {"pthread.futex_ping_pong", futex_ping_pong},
    {"pthread.mutex", mutex_pair},
    {"pthread.rwlock", rwlock_pair},
    {"pthread.sem", sem_pair},
    {"pthread.mutex_contended", mutex_contended},
    {"pthread.mutex_fairness", mutex_fairness},
    {"pthread.barrier", barrier_figure},
};

BENCH_MAIN(figures)
