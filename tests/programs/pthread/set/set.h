// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The parts of the pthread program set: one file each, for glibc and musl.

#ifndef HADAL_TEST_PTHREAD_SET_H
#define HADAL_TEST_PTHREAD_SET_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "../../common/check.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

void part_create(void);
void part_attributes(void);
void part_mutexes(void);
void part_robust(void);
void part_conditions(void);
void part_rwlocks(void);
void part_barriers(void);
void part_semaphores(void);
void part_cancellation(void);
void part_tls(void);
void part_timeouts(void);
void part_churn(void);
void part_inherited(void);
void part_fresh(void);

// The moment `milliseconds` from now on a clock.
static inline struct timespec after_ms(clockid_t clock, long milliseconds) {
    struct timespec when;
    clock_gettime(clock, &when);
    when.tv_sec += milliseconds / 1000;
    when.tv_nsec += milliseconds % 1000 * 1000000;
    if (when.tv_nsec >= 1000000000) {
        when.tv_sec += 1;
        when.tv_nsec -= 1000000000;
    }
    return when;
}

// True when the moment is past.
static inline int is_past(clockid_t clock, const struct timespec *when) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec > when->tv_sec || (now.tv_sec == when->tv_sec && now.tv_nsec >= when->tv_nsec);
}

#endif
