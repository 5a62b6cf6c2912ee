// SPDX-License-Identifier: Apache-2.0 OR MIT
// Semaphores. One that libc's sem_open() has initialised has no magic yet, only its value: it is adopted when
// a call finds that it is none.
#define _GNU_SOURCE
#include <errno.h>
#include <semaphore.h>

#include "../sync/wait.h"
#include "thread.h"

_Static_assert(sizeof(hrt_sem_t) <= sizeof(sem_t), "layout");

static hrt_sem_t *view(sem_t *sem) { return (hrt_sem_t *)sem; }

// Whether the call with this status is to be made again.
static bool has_adopted(hrt_sem_t *sem, int status) {
    if (HRT_LIKELY(status != HRT_EINVAL)) {
        return false;
    }
    uint64_t state = HRT_LOAD(&sem->state, HRT_RELAXED);
    while (state <= HRT_SEM_MAX) {
        if (HRT_CAS(&sem->state, &state, HRT_SEM_MAGIC | state, HRT_RELAXED)) {
            return true;
        }
    }
    return (state & HRT_SEM_MAGIC_MASK) == HRT_SEM_MAGIC;
}

// Semaphores report as system calls do.
static int result(int status) {
    if (status == HRT_OK) {
        return 0;
    }
    errno = status;
    return -1;
}

int sem_init(sem_t *sem, int shared, unsigned value) {
    (void)shared;
    return result(hrt_sem_init(view(sem), value));
}

int sem_destroy(sem_t *sem) { return result(hrt_sem_destroy(view(sem))); }

int sem_getvalue(sem_t *sem, int *value) {
    uint32_t now;
    int status;
    do {
        status = hrt_sem_value(view(sem), &now);
    } while (has_adopted(view(sem), status));
    if (status == HRT_OK) {
        *value = (int)now;
    }
    return result(status);
}

__attribute__((noinline)) static int post_again(hrt_sem_t *sem, int status) {
    while (has_adopted(sem, status)) {
        status = hrt_sem_post(sem);
    }
    return result(status);
}

int sem_post(sem_t *sem) {
    int status = hrt_sem_post(view(sem));
    return HRT_LIKELY(status == HRT_OK) ? 0 : post_again(view(sem), status);
}

static int try_again(hrt_sem_t *sem, int status) {
    while (has_adopted(sem, status)) {
        status = hrt_sem_trywait(sem);
    }
    return status;
}

int sem_trywait(sem_t *sem) { return result(try_again(view(sem), hrt_sem_trywait(view(sem)))); }

// The waiter is cancelled. One that it could have had is for the next.
static void give_up(void *arg) {
    hrt_cancel_unwind();
    if (hrt_sem_take_or_leave(arg)) {
        hrt_sem_post(arg);
    }
}

// Sleeps as an announced waiter.
static int wait_announced(hrt_sem_t *sem, clockid_t clock, const struct timespec *time, uint64_t deadline) {
    const uint32_t *value = hrt_lower_half(&sem->state);
    struct hrt_cancel_point point;
    int status = HRT_OK;
    pthread_cleanup_push(give_up, sem);
    hrt_cancel_enter(&point, value);
    while (!hrt_sem_take_as_waiter(sem)) {
        status = hrt_wait(value, 0, deadline, 0);
        pthread_testcancel();
        bool is_over = status == HRT_EINTR ||
                       (hrt_wait_failed(status) &&
                        (status != HRT_ETIMEDOUT || !hrt_deadline_is_early(clock, time, &deadline)));
        if (is_over) {
            status = hrt_sem_take_or_leave(sem) ? HRT_OK : status;
            break;
        }
        status = HRT_OK;
    }
    hrt_cancel_unwind();
    pthread_cleanup_pop(0);
    hrt_cancel_leave(&point);
    return status;
}

// Nothing was there at first.
__attribute__((noinline)) static int wait_slowly(hrt_sem_t *sem, clockid_t clock, const struct timespec *time,
                                                 int status) {
    status = try_again(sem, status);
    if (status != HRT_EAGAIN) {
        return result(status);
    }
    uint64_t deadline = HRT_FOREVER;
    int error = time == NULL ? 0 : hrt_deadline(clock, time, &deadline);
    if (error != 0) {
        return result(error);
    }
    status = hrt_sem_take_or_announce(sem);
    if (status == HRT_EAGAIN) {
        status = wait_announced(sem, clock, time, deadline);
    }
    return result(status);
}

static int wait_until(sem_t *sem, clockid_t clock, const struct timespec *time) {
    pthread_testcancel();
    int status = hrt_sem_trywait(view(sem));
    return HRT_LIKELY(status == HRT_OK) ? 0 : wait_slowly(view(sem), clock, time, status);
}

int sem_wait(sem_t *sem) { return wait_until(sem, CLOCK_REALTIME, NULL); }

int sem_timedwait(sem_t *sem, const struct timespec *time) { return wait_until(sem, CLOCK_REALTIME, time); }

int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *time) {
    return wait_until(sem, clock, time);
}
