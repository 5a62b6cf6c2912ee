// SPDX-License-Identifier: Apache-2.0 OR MIT
// The monotonic clock, and sleeping until a time of it.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "linux.h"

#define NS_PER_S 1000000000u

uint64_t hrt_linux_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

const struct timespec *hrt_linux_timespec(uint64_t deadline_ns, struct timespec *time) {
    if (deadline_ns == HRT_FOREVER) {
        return NULL;
    }
    time->tv_sec = (time_t)(deadline_ns / NS_PER_S);
    time->tv_nsec = (long)(deadline_ns % NS_PER_S);
    return time;
}

int hrt_linux_thread_sleep_until(uint64_t deadline_ns) {
    struct timespec time;
    // The clock cannot reach HRT_FOREVER in this world's time: as far as Linux is concerned a plain number.
    hrt_linux_timespec(deadline_ns == HRT_FOREVER ? INT64_MAX : deadline_ns, &time);
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

void hrt_linux_thread_yield(void) { sched_yield(); }

// The system call itself keeps vector registers; the code around it must not use any.
HRT_HANDLER void hrt_linux_thread_yield_full(void) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "0"(24L /* sched_yield */) : "rcx", "r11", "memory");
}
