// SPDX-License-Identifier: Apache-2.0 OR MIT
// Condition variables: hrt_cond_t, and the clock of their time-outs. All zero is a new one.
#define _GNU_SOURCE
#include <errno.h>

#include "mutex.h"

struct hrt_posix_cond {
    hrt_cond_t core;
    int32_t clock; /* CLOCK_REALTIME is 0 */
};
_Static_assert(sizeof(struct hrt_posix_cond) <= sizeof(pthread_cond_t), "layout");

static struct hrt_posix_cond *view(pthread_cond_t *cond) { return (struct hrt_posix_cond *)cond; }

static void adopt(struct hrt_posix_cond *cond) {
    uint32_t unused = 0;
    uint32_t *state = &cond->core.queue.state;
    if (HRT_LOAD(state, HRT_RELAXED) == 0) {
        HRT_CAS(state, &unused, HRT_WAIT_QUEUE_MAGIC, HRT_RELAXED);
    }
}

int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr) {
    clockid_t clock = CLOCK_REALTIME;
    if (attr != NULL) {
        pthread_condattr_getclock(attr, &clock);
    }
    __builtin_memset(cond, 0, sizeof *cond);
    view(cond)->clock = clock;
    hrt_cond_init(&view(cond)->core);
    return 0;
}

// After a broadcast a condition variable may be destroyed at once: then the woken are still leaving.
int pthread_cond_destroy(pthread_cond_t *cond) {
    adopt(view(cond));
    int status;
    while ((status = hrt_cond_destroy(&view(cond)->core)) == HRT_EBUSY) {
        hrt_calls->thread_sleep_until(hrt_calls->now_ns() + 20000);
    }
    return status;
}

int pthread_cond_signal(pthread_cond_t *cond) {
    adopt(view(cond));
    return hrt_cond_signal(&view(cond)->core, HRT_WAKE_KICK);
}

int pthread_cond_broadcast(pthread_cond_t *cond) {
    adopt(view(cond));
    return hrt_cond_broadcast(&view(cond)->core, HRT_WAKE_KICK);
}

struct waiting {
    struct hrt_posix_cond *cond;
    pthread_mutex_t *mutex;
    uint32_t depth;
    uint32_t ticket;
};

static bool is_woken(const struct waiting *waiting) {
    return HRT_LOAD(&waiting->cond->core.queue.sequence, HRT_ACQUIRE) != waiting->ticket;
}

// The waiter is cancelled. A wake-up that was meant for it is for the next.
static void give_up(void *arg) {
    struct waiting *waiting = arg;
    hrt_cancel_unwind();
    if (is_woken(waiting)) {
        hrt_cond_signal(&waiting->cond->core, HRT_WAKE_KICK);
    }
    hrt_wait_queue_cancel(&waiting->cond->core.queue);
    hrt_posix_mutex_resume(waiting->mutex, waiting->depth);
}

// Sleeps until a wake-up or the time; a cancellation point.
static int sleep_until(struct waiting *waiting, clockid_t clock, const struct timespec *time,
                       uint64_t deadline) {
    const uint32_t *word = &waiting->cond->core.queue.sequence;
    struct hrt_cancel_point point;
    int error = 0;
    pthread_cleanup_push(give_up, waiting);
    hrt_cancel_enter(&point, word);
    while (error == 0) {
        int status = hrt_wait(word, waiting->ticket, deadline, 0);
        if (is_woken(waiting)) {
            break;
        }
        pthread_testcancel();
        if (status == HRT_ETIMEDOUT && !hrt_deadline_is_early(clock, time, &deadline)) {
            error = ETIMEDOUT;
        } else if (hrt_wait_failed(status) && status != HRT_ETIMEDOUT) {
            error = status;
        }
    }
    hrt_cancel_leave(&point);
    pthread_cleanup_pop(0);
    return error;
}

static int wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                      const struct timespec *time) {
    struct waiting waiting = {.cond = view(cond), .mutex = mutex};
    uint64_t deadline = HRT_FOREVER;
    int error = time == NULL ? 0 : hrt_deadline(clock, time, &deadline);
    if (error != 0) {
        return error;
    }
    adopt(waiting.cond);
    error = hrt_wait_queue_prepare(&waiting.cond->core.queue, &waiting.ticket);
    if (error != 0) {
        return error;
    }
    error = hrt_posix_mutex_suspend(mutex, &waiting.depth);
    if (error != 0) {
        hrt_wait_queue_cancel(&waiting.cond->core.queue);
        return error;
    }
    error = sleep_until(&waiting, clock, time, deadline);
    hrt_wait_queue_cancel(&waiting.cond->core.queue);
    int relocked = hrt_posix_mutex_resume(mutex, waiting.depth);
    return relocked != 0 ? relocked : error;
}

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) {
    return wait_until(cond, mutex, CLOCK_REALTIME, NULL);
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *time) {
    return wait_until(cond, mutex, view(cond)->clock, time);
}

int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *time) {
    return wait_until(cond, mutex, clock, time);
}
