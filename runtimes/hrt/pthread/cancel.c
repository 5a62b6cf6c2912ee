// SPDX-License-Identifier: Apache-2.0 OR MIT
// Cancellation. State, type and pending requests are libc's, whose own cancellation points (read, sleep, ...)
// need them. Our waiting functions say what word they sleep on before they look for a request; whoever makes
// one wakes them until they have looked again.
#include <errno.h>

#include "thread.h"

// How long a cancelling thread sleeps before it looks again whether the other has woken up.
#define LOOK_AGAIN_NS 50000

void hrt_cancel_enter(struct hrt_cancel_point *point, const uint32_t *word) {
    int state;
    // Deferred: an asynchronous request would end us between a wake-up and its consequences.
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &point->type);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    if (state == PTHREAD_CANCEL_ENABLE) {
        HRT_STORE(&hrt_local.pthread.waits_on, word, HRT_RELAXED);
        HRT_FENCE(HRT_SEQ_CST);
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
        pthread_testcancel();
    }
}

void hrt_cancel_unwind(void) { HRT_STORE(&hrt_local.pthread.waits_on, NULL, HRT_RELEASE); }

void hrt_cancel_leave(const struct hrt_cancel_point *point) {
    HRT_STORE(&hrt_local.pthread.waits_on, NULL, HRT_RELEASE);
    pthread_setcanceltype(point->type, NULL);
}

// The wake may come between its look and its sleep; so there is one after the other until it stops waiting.
static void wake_waiting(struct hrt_pthread *thread) {
    HRT_FENCE(HRT_SEQ_CST);
    const uint32_t *word = HRT_LOAD(&thread->waits_on, HRT_RELAXED);
    while (word != NULL && HRT_LOAD(&thread->waits_on, HRT_ACQUIRE) == word) {
        hrt_wake(word, HRT_WAKE_ALL, HRT_WAKE_KICK);
        if (HRT_LOAD(&thread->waits_on, HRT_ACQUIRE) == word) {
            hrt_calls->thread_sleep_until(hrt_calls->now_ns() + LOOK_AGAIN_NS);
        }
    }
}

int pthread_cancel(pthread_t thread) {
    struct hrt_pthread *target = hrt_pthread_of(thread);
    if (target->is_slot) {
        uint32_t life = HRT_LOAD(&target->life, HRT_ACQUIRE);
        if (hrt_pthread_is_gone(life)) {
            return ESRCH;
        }
        if (life == HRT_PTHREAD_DONE) {
            return 0;
        }
    }
    int error = __pthread_cancel(thread);
    if (error == 0 && thread != pthread_self()) {
        wake_waiting(target);
    }
    return error;
}
