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

// Why a thread with this life cannot be joined, if it cannot.
__attribute__((noinline)) static int refusal(const struct hrt_pthread *target, uint32_t life) {
    if (life == HRT_PTHREAD_DETACHED || life == HRT_PTHREAD_LEFT) {
        return EINVAL;
    }
    return hrt_pthread_is_gone(target, life) ? ESRCH : 0;
}

// The thread may be joined by the caller, who is the only one to try.
static inline int claim(pthread_t thread, struct hrt_pthread *target) {
    uint32_t life = HRT_LOAD(&target->life, HRT_ACQUIRE);
    int error = life == HRT_PTHREAD_JOINABLE ? 0 : refusal(target, life);
    if (error != 0) {
        return error;
    }
    if (thread == hrt_pthread_self() || HRT_LOAD(&target->joins, HRT_RELAXED) == &hrt_local.pthread) {
        return EDEADLK;
    }
    return HRT_EXCHANGE(&target->joiner, 1, HRT_ACQUIRE) == 0 ? 0 : EINVAL;
}

// The kernel keeps the result of a thread on a slot, and gives the slot back to its pool with it.
static int join_slot(struct hrt_pthread *target, void **result, uint64_t deadline) {
    return hrt_calls->thread_join(target->thread, result, deadline);
}

// Main's is where it was, because main waits for the others.
static int join_main(struct hrt_pthread *target, void **result, uint64_t deadline) {
    int status = HRT_OK;
    if (HRT_LOAD(&target->life, HRT_ACQUIRE) == HRT_PTHREAD_JOINABLE) {
        status = hrt_wait(&target->life, HRT_PTHREAD_JOINABLE, deadline, 0);
    }
    if (HRT_LOAD(&target->life, HRT_ACQUIRE) == HRT_PTHREAD_JOINABLE) {
        return status == HRT_ETIMEDOUT ? HRT_ETIMEDOUT : HRT_EINTR;
    }
    *result = target->result;
    HRT_STORE(&target->life, HRT_PTHREAD_TAKEN, HRT_RELEASE);
    return HRT_OK;
}

static int join_any(struct hrt_pthread *target, void **result, uint64_t deadline) {
    return target->is_slot ? join_slot(target, result, deadline) : join_main(target, result, deadline);
}

// Sleeps until the thread is done; a cancellation point. Nothing is touched of a thread that has been joined.
static int await(struct hrt_pthread *target, void **result, clockid_t clock, const struct timespec *time) {
    uint64_t deadline = HRT_FOREVER;
    int status = time == NULL ? HRT_OK : hrt_deadline(clock, time, &deadline);
    if (status != HRT_OK) {
        HRT_STORE(&target->joiner, 0, HRT_RELEASE);
        return status;
    }
    struct hrt_cancel_point point;
    pthread_cleanup_push(give_up, target);
    hrt_cancel_enter(&point, &target->life);
    while ((status = join_any(target, result, deadline)) != HRT_OK) {
        pthread_testcancel();
        bool early = status == HRT_ETIMEDOUT && hrt_deadline_is_early(clock, time, &deadline);
        if (status != HRT_EINTR && !early) {
            HRT_STORE(&target->joiner, 0, HRT_RELEASE);
            break;
        }
    }
    hrt_cancel_leave(&point);
    pthread_cleanup_pop(0);
    return hrt_pthread_error(status);
}

static int join(pthread_t thread, void **result, clockid_t clock, const struct timespec *time) {
    struct hrt_pthread *target = hrt_pthread_of(thread);
    int error = claim(thread, target);
    if (error != 0) {
        return error;
    }
    void *taken;
    hrt_local.pthread.joins = target;
    error = await(target, &taken, clock, time);
    hrt_local.pthread.joins = NULL;
    if (error == 0 && result != NULL) {
        *result = taken;
    }
    return error;
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
    if (error != 0) {
        return error;
    }
    // On a slot it may have a few steps left.
    void *taken;
    error = hrt_pthread_error(join_any(target, &taken, HRT_FOREVER));
    if (error == 0 && result != NULL) {
        *result = taken;
    }
    return error;
}

// Main's descriptor stays as long as the process.
static int detach_main(struct hrt_pthread *target) {
    uint32_t life = HRT_LOAD(&target->life, HRT_ACQUIRE);
    for (;;) {
        uint32_t next = life == HRT_PTHREAD_DONE ? HRT_PTHREAD_TAKEN : HRT_PTHREAD_DETACHED;
        if (life == HRT_PTHREAD_DETACHED) {
            return EINVAL;
        }
        if (life == HRT_PTHREAD_TAKEN) {
            return ESRCH;
        }
        if (HRT_CAS(&target->life, &life, next, HRT_ACQ_REL)) {
            return 0;
        }
    }
}

static int detach_slot(struct hrt_pthread *target) {
    uint32_t life = HRT_LOAD(&target->life, HRT_ACQUIRE);
    hrt_thread_t name = target->thread;
    if (life == HRT_PTHREAD_DETACHED || life == HRT_PTHREAD_LEFT) {
        return EINVAL;
    }
    if (life == HRT_PTHREAD_JOINABLE) {
        HRT_CAS(&target->life, &life, HRT_PTHREAD_DETACHED, HRT_ACQ_REL);
    }
    return hrt_pthread_error(hrt_calls->thread_detach(name));
}

int pthread_detach(pthread_t thread) {
    struct hrt_pthread *target = hrt_pthread_of(thread);
    if (!is_ours(thread)) {
        return __pthread_detach(thread);
    }
    return target->is_slot ? detach_slot(target) : detach_main(target);
}
