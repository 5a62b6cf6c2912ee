// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Clocks and sleeping.

#define _GNU_SOURCE
#include "set.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

// Both ways to the clock agree, and neither runs backwards on any processor or between them.
static int64_t now_ns(clockid_t clock) {
    struct timespec now;
    CHECK_EQUAL(clock_gettime(clock, &now), 0);
    CHECK(now.tv_nsec >= 0 && now.tv_nsec < 1000000000);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t call_ns(clockid_t clock) {
    struct timespec now;
    CHECK_EQUAL(syscall(SYS_clock_gettime, clock, &now), 0);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t latest;

static void *watch_clock(void *argument) {
    (void)argument;
    for (int i = 0; i < 5000; i++) {
        int64_t seen = __atomic_load_n(&latest, __ATOMIC_ACQUIRE);
        int64_t now = i % 50 == 0 ? call_ns(CLOCK_MONOTONIC) : now_ns(CLOCK_MONOTONIC);
        CHECK(now >= seen);
        while (now > seen &&
               !__atomic_compare_exchange_n(&latest, &seen, now, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        }
    }
    return NULL;
}

static void *nothing(void *argument) { return argument; }

// The process's CPU time counts each thread once, also while it ends.
static void watch_ends_of_threads(void) {
    int64_t seen = 0;
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        CHECK_EQUAL(pthread_create(&thread, NULL, nothing, NULL), 0);
        CHECK_EQUAL(pthread_join(thread, NULL), 0);
        for (int look = 0; look < 20; look++) {
            int64_t now = now_ns(CLOCK_PROCESS_CPUTIME_ID);
            CHECK(now >= seen);
            seen = now;
        }
    }
}

void part_clocks(void) {
    watch_ends_of_threads();
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, watch_clock, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
    }
    static const clockid_t clocks[] = {
        CLOCK_REALTIME,        CLOCK_MONOTONIC,        CLOCK_MONOTONIC_RAW,      CLOCK_BOOTTIME,
        CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID};
    for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++) {
        int64_t first = now_ns(clocks[i]);
        CHECK(now_ns(clocks[i]) >= first);
        struct timespec resolution;
        CHECK_EQUAL(clock_getres(clocks[i], &resolution), 0);
        CHECK(resolution.tv_sec == 0 && resolution.tv_nsec > 0);
    }
    CHECK_ERRNO(clock_gettime(99, &(struct timespec){0, 0}), EINVAL);
    int64_t before = now_ns(CLOCK_MONOTONIC);
    struct timespec pause_time = {0, 30000000};
    CHECK_EQUAL(nanosleep(&pause_time, NULL), 0);
    CHECK(now_ns(CLOCK_MONOTONIC) - before >= 30000000);
    struct timespec target = {(before + 60000000) / 1000000000, (before + 60000000) % 1000000000};
    CHECK_EQUAL(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &target, NULL), 0);
    CHECK(now_ns(CLOCK_MONOTONIC) - before >= 60000000);
    pause_time.tv_nsec = 1000000000;
    CHECK_ERRNO(nanosleep(&pause_time, NULL), EINVAL);

    struct timeval day;
    CHECK_EQUAL(gettimeofday(&day, NULL), 0);
    CHECK(labs(time(NULL) - day.tv_sec) <= 1);
    CHECK(day.tv_sec > 1600000000);

    // Time of a thread passes while it computes and not while it sleeps.
    int64_t used = now_ns(CLOCK_THREAD_CPUTIME_ID);
    volatile double x = 1.0;
    for (int i = 0; i < 3000000; i++) {
        x = x * 1.0000001;
    }
    CHECK(now_ns(CLOCK_THREAD_CPUTIME_ID) > used);
}
