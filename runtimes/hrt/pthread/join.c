// SPDX-License-Identifier: Apache-2.0 OR MIT
// Joining and detaching.
#define _GNU_SOURCE
#include <errno.h>

#include "thread.h"

// What a joiner undoes when it is cancelled: the thread stays joinable.
static void give_up(void *arg) {
    struct hrt_pthread *target = arg;
    hrt_cancel_unwind();
    hrt_local.pthread.joins = NULL;
    HRT_STORE(&target->joiner, 0, HRT_RELEASE);
}

// The thread may be joined by the caller, who is the only one to try.
static int claim(pthread_t thread, struct hrt_pthread *target) {
    uint32_t life = HRT_LOAD(&target->life, HRT_ACQUIRE);
    if (life == HRT_PTHREAD_DETACHED || life == HRT_PTHREAD_LEFT) {
        return EINVAL;
    }
    if (hrt_pthread_is_gone(life)) {
        return ESRCH;
    }
    if (thread == pthread_self() || HRT_LOAD(&target->joins, HRT_RELAXED) == &hrt_local.pthread) {
        return EDEADLK;
    }
    return HRT_EXCHANGE(&target->joiner, 1, HRT_ACQUIRE) == 0 ? 0 : EINVAL;
}

// Sleeps until the thread is done; a cancellation point.
static int await(struct hrt_pthread *target, clockid_t clock, const struct timespec *time) {
    uint64_t deadline = HRT_FOREVER;
    int error = time == NULL ? 0 : hrt_deadline(clock, time, &deadline);
    struct hrt_cancel_point point;
    pthread_cleanup_push(give_up, target);
    hrt_cancel_enter(&point, &target->life);
    while (error == 0 && HRT_LOAD(&target->life, HRT_ACQUIRE) == HRT_PTHREAD_JOINABLE) {
        int status = hrt_wait(&target->life, HRT_PTHREAD_JOINABLE, deadline, 0);
        pthread_testcancel();
        if (status == HRT_ETIMEDOUT && !hrt_deadline_is_early(clock, time, &deadline)) {
            error = HRT_LOAD(&target->life, HRT_ACQUIRE) == HRT_PTHREAD_JOINABLE ? ETIMEDOUT : 0;
        }
    }
    hrt_cancel_leave(&point);
    pthread_cleanup_pop(0);
    return error;
}

// The result first: once taken, the thread's data may be another's.
static void take(struct hrt_pthread *target, void **result) {
    if (result != NULL) {
        *result = target->result;
    }
    HRT_STORE(&target->life, HRT_PTHREAD_TAKEN, HRT_RELEASE);
    hrt_wake(&target->life, 1, HRT_WAKE_KICK);
}

static int join(pthread_t thread, void **result, clockid_t clock, const struct timespec *time) {
    struct hrt_pthread *target = hrt_pthread_of(thread);
    int error = claim(thread, target);
    if (error != 0) {
        return error;
    }
    hrt_local.pthread.joins = target;
    error = await(target, clock, time);
    hrt_local.pthread.joins = NULL;
    if (error != 0) {
        HRT_STORE(&target->joiner, 0, HRT_RELEASE);
        return error;
    }
    take(target, result);
    return 0;
}

// Threads of libc's own are joined by libc; main is ours since it may wait in pthread_exit().
static bool is_ours(pthread_t thread) {
    struct hrt_pthread *target = hrt_pthread_of(thread);
    return target->is_slot != 0 || HRT_LOAD(&target->life, HRT_RELAXED) != HRT_PTHREAD_NONE;
}

int pthread_join(pthread_t thread, void **result) {
    return is_ours(thread) ? join(thread, result, CLOCK_REALTIME, NULL) : __pthread_join(thread, result);
}

int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *time) {
    return is_ours(thread) ? join(thread, result, CLOCK_REALTIME, time)
                           : ___pthread_timedjoin_np(thread, result, time);
}

int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock, const struct timespec *time) {
    return is_ours(thread) ? join(thread, result, clock, time)
                           : ___pthread_clockjoin_np(thread, result, clock, time);
}

int pthread_tryjoin_np(pthread_t thread, void **result) {
    if (!is_ours(thread)) {
        return __pthread_tryjoin_np(thread, result);
    }
    struct hrt_pthread *target = hrt_pthread_of(thread);
    if (HRT_LOAD(&target->life, HRT_ACQUIRE) == HRT_PTHREAD_JOINABLE) {
        return EBUSY;
    }
    int error = claim(thread, target);
    if (error == 0) {
        take(target, result);
    }
    return error;
}

int pthread_detach(pthread_t thread) {
    if (!is_ours(thread)) {
        return __pthread_detach(thread);
    }
    struct hrt_pthread *target = hrt_pthread_of(thread);
    uint32_t life = HRT_LOAD(&target->life, HRT_ACQUIRE);
    for (;;) {
        uint32_t next = life == HRT_PTHREAD_DONE ? HRT_PTHREAD_TAKEN : HRT_PTHREAD_DETACHED;
        if (life == HRT_PTHREAD_DETACHED || life == HRT_PTHREAD_LEFT) {
            return EINVAL;
        }
        if (life != HRT_PTHREAD_JOINABLE && life != HRT_PTHREAD_DONE) {
            return ESRCH;
        }
        if (HRT_CAS(&target->life, &life, next, HRT_ACQ_REL)) {
            hrt_wake(&target->life, HRT_WAKE_ALL, HRT_WAKE_KICK);
            return 0;
        }
    }
}
