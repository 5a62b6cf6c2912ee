// SPDX-License-Identifier: Apache-2.0 OR MIT
// Timers whose callbacks run in a thread (HRT_TIMER_THREAD). One thread serves all of them: it sleeps on a
// word until the earliest deadline, or until somebody starts a timer that is earlier.
#include "timer_heap.h"

static hrt_mutex_t lock = HRT_MUTEX_INIT;
static hrt_once_t started = HRT_ONCE_INIT;
static struct hrt_timer_heap timers;
// Changed whenever the thread has to look again.
static uint32_t changes;

static void *serve(void *arg) {
    for (;;) {
        struct hrt_timer timer;
        hrt_mutex_lock(&lock);
        bool due = hrt_timer_due(&timers, hrt_now_ns(), &timer);
        uint64_t next_ns = hrt_timer_next(&timers);
        uint32_t seen = __atomic_load_n(&changes, __ATOMIC_RELAXED);
        hrt_mutex_unlock(&lock);
        if (due) {
            timer.callback(timer.arg);
        } else {
            hrt_wait(&changes, seen, next_ns, 0);
        }
    }
    return arg;
}

// Makes the thread, once; another caller tries again if that failed.
static int start(void) {
    int status = hrt_once_begin(&started);
    if (status != HRT_ONCE_YOURS) {
        return status;
    }
    struct hrt_thread_attr attr;
    hrt_thread_attr_init(&attr);
    attr.flags = HRT_THREAD_DETACHED;
    attr.priority = HRT_PRIORITIES - 1;
    attr.name = "hrt timers";
    status = hrt_thread_create(NULL, &attr, serve, NULL);
    if (status != HRT_OK) {
        hrt_once_abandon(&started);
        return status;
    }
    return hrt_once_end(&started);
}

int hrt_thread_timer_start(uint64_t deadline_ns, hrt_handler_fn callback, void *arg, uint64_t *timer) {
    if (!callback) {
        return HRT_EINVAL;
    }
    int status = start();
    if (status != HRT_OK) {
        return status;
    }
    hrt_mutex_lock(&lock);
    bool first = deadline_ns < hrt_timer_next(&timers);
    uint32_t place = hrt_timer_add(&timers, deadline_ns, callback, arg);
    if (place == UINT32_MAX) {
        hrt_mutex_unlock(&lock);
        return HRT_ENOMEM;
    }
    if (timer) {
        *timer = HRT_TIMER_THREAD_NAME | (uint64_t)timers.places[place].generation << 32 | place;
    }
    if (first) {
        __atomic_fetch_add(&changes, 1, __ATOMIC_RELAXED);
    }
    hrt_mutex_unlock(&lock);
    if (first) {
        hrt_wake(&changes, 1, HRT_WAKE_KICK);
    }
    return HRT_OK;
}

int hrt_thread_timer_cancel(uint64_t timer) {
    hrt_mutex_lock(&lock);
    bool pending = hrt_timer_remove(&timers, (uint32_t)timer, timer >> 32 & HRT_TIMER_GENERATIONS);
    hrt_mutex_unlock(&lock);
    return pending ? HRT_OK : HRT_ESRCH;
}
