// SPDX-License-Identifier: Apache-2.0 OR MIT
// Cancellation. State, type and pending requests are libc's, whose own cancellation points (read, sleep, ...)
// need them; the first two are noted here, too, where our own look. Our waiting functions say what word they
// sleep on before they look for a request; whoever makes one wakes them until they have looked again.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "thread.h"

// How long a cancelling thread sleeps before it looks again whether the other has woken up.
#define LOOK_AGAIN_NS 50000

// The first of the two real-time signals that glibc keeps for itself.
#define SIGCANCEL 32

int pthread_setcancelstate(int state, int *before) {
    int error = __pthread_setcancelstate(state, before);
    if (error == 0) {
        hrt_local.pthread.cancel_state = state;
    }
    return error;
}

int pthread_setcanceltype(int type, int *before) {
    int error = __pthread_setcanceltype(type, before);
    if (error == 0) {
        hrt_local.pthread.cancel_type = type;
    }
    return error;
}

void hrt_cancel_enter(struct hrt_cancel_point *point, const uint32_t *word) {
    point->type = hrt_local.pthread.cancel_type;
    // An asynchronous request would end us between a wake-up and its consequences.
    if (point->type != PTHREAD_CANCEL_DEFERRED) {
        pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
    }
    if (hrt_local.pthread.cancel_state == PTHREAD_CANCEL_ENABLE) {
        HRT_STORE(&hrt_local.pthread.waits_on, word, HRT_RELAXED);
        HRT_FENCE(HRT_SEQ_CST);
        pthread_testcancel();
    }
}

void hrt_cancel_unwind(void) { HRT_STORE(&hrt_local.pthread.waits_on, NULL, HRT_RELEASE); }

void hrt_cancel_leave(const struct hrt_cancel_point *point) {
    HRT_STORE(&hrt_local.pthread.waits_on, NULL, HRT_RELEASE);
    if (point->type != PTHREAD_CANCEL_DEFERRED) {
        pthread_setcanceltype(point->type, NULL);
    }
}

// A thread that joins another sleeps in the kernel's own call; libc's signal for cancellation, which does
// nothing to a thread with a deferred request, gets it out of there.
static void wake(pthread_t name, const struct hrt_pthread *thread, const uint32_t *word) {
    pid_t tid;
    if (HRT_LOAD(&thread->joins, HRT_RELAXED) == NULL) {
        hrt_wake(word, HRT_WAKE_ALL, HRT_WAKE_KICK);
    } else if (hrt_pthread_tid(name, &tid) == 0) {
        tgkill(getpid(), tid, SIGCANCEL);
    }
}

// The wake may come between its look and its sleep; so there is one after the other until it stops waiting.
static void wake_waiting(pthread_t name, struct hrt_pthread *thread) {
    HRT_FENCE(HRT_SEQ_CST);
    const uint32_t *word = HRT_LOAD(&thread->waits_on, HRT_RELAXED);
    while (word != NULL && HRT_LOAD(&thread->waits_on, HRT_ACQUIRE) == word) {
        wake(name, thread, word);
        if (HRT_LOAD(&thread->waits_on, HRT_ACQUIRE) == word) {
            hrt_calls->thread_sleep_until(hrt_calls->now_ns() + LOOK_AGAIN_NS);
        }
    }
}

int pthread_cancel(pthread_t thread) {
    struct hrt_pthread *target = hrt_pthread_of(thread);
    if (target->is_slot) {
        if (hrt_pthread_is_gone(target, HRT_LOAD(&target->life, HRT_ACQUIRE))) {
            return ESRCH;
        }
        // Either the thread, which says first that it is ending, sees that its slot is spoilt, or we see
        // that.
        if (!hrt_pthread_spoil(target) || HRT_LOAD(&target->ending, HRT_RELAXED) != 0) {
            return 0;
        }
    }
    int error = __pthread_cancel(thread);
    if (error == 0 && thread != hrt_pthread_self()) {
        wake_waiting(thread, target);
    }
    return error;
}
