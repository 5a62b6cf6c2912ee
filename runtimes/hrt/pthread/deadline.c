// SPDX-License-Identifier: Apache-2.0 OR MIT
// Absolute times of Linux's clocks as deadlines of hadal/hrt.h.
#define _GNU_SOURCE
#include <errno.h>

#include "thread.h"

#define SECOND_NS 1000000000

// Nanoseconds until the time, at least 0; a time too far away is never.
static uint64_t left_ns(clockid_t clock, const struct timespec *time) {
    struct timespec now;
    clock_gettime(clock, &now);
    int64_t seconds;
    if (__builtin_sub_overflow(time->tv_sec, now.tv_sec, &seconds) || seconds > INT64_MAX / SECOND_NS - 1) {
        return time->tv_sec < 0 ? 0 : HRT_FOREVER;
    }
    if (seconds < -1) {
        return 0;
    }
    int64_t left = seconds * SECOND_NS + (time->tv_nsec - now.tv_nsec);
    return left > 0 ? (uint64_t)left : 0;
}

static uint64_t deadline_of(clockid_t clock, const struct timespec *time) {
    uint64_t left = left_ns(clock, time);
    uint64_t deadline;
    return __builtin_add_overflow(hrt_now_ns(), left, &deadline) ? HRT_FOREVER : deadline;
}

int hrt_deadline(clockid_t clock, const struct timespec *time, uint64_t *deadline_ns) {
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) {
        return EINVAL;
    }
    if (time->tv_nsec < 0 || time->tv_nsec >= SECOND_NS) {
        return EINVAL;
    }
    *deadline_ns = deadline_of(clock, time);
    return 0;
}

bool hrt_deadline_is_early(clockid_t clock, const struct timespec *time, uint64_t *deadline_ns) {
    if (left_ns(clock, time) == 0) {
        return false;
    }
    *deadline_ns = deadline_of(clock, time);
    return true;
}
