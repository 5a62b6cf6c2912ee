// SPDX-License-Identifier: Apache-2.0 OR MIT
// Wait queue: announce, look, sleep. No wake is lost because waiter and waker each write before a full fence
// and read after it: the waiter its announcement and then the condition, the waker the condition and then the
// number of announcements. One of the two sees the other.
#include "wait.h"

static bool is_queue(uint32_t state) { return (state & ~HRT_WAIT_QUEUE_WAITERS) == HRT_WAIT_QUEUE_MAGIC; }

void hrt_wait_queue_init(hrt_wait_queue_t *queue) {
    HRT_STORE(&queue->sequence, 0, HRT_RELAXED);
    HRT_STORE(&queue->state, HRT_WAIT_QUEUE_MAGIC, HRT_RELAXED);
}

int hrt_wait_queue_destroy(hrt_wait_queue_t *queue) {
    uint32_t state = HRT_WAIT_QUEUE_MAGIC;
    if (HRT_CAS(&queue->state, &state, HRT_DEAD, HRT_ACQUIRE)) {
        return HRT_OK;
    }
    return is_queue(state) ? HRT_EBUSY : HRT_EINVAL;
}

int hrt_wait_queue_prepare(hrt_wait_queue_t *queue, uint32_t *ticket) {
    uint32_t state = HRT_LOAD(&queue->state, HRT_RELAXED);
    do {
        if (!is_queue(state)) {
            return HRT_EINVAL;
        }
        if ((state & HRT_WAIT_QUEUE_WAITERS) == HRT_WAIT_QUEUE_WAITERS) {
            return HRT_EAGAIN;
        }
    } while (!HRT_CAS(&queue->state, &state, state + 1, HRT_RELAXED));
    // A wake that the ticket already counts is one whose reason the caller will see: hence acquire.
    *ticket = HRT_LOAD(&queue->sequence, HRT_ACQUIRE);
    HRT_FENCE(HRT_SEQ_CST);
    return HRT_OK;
}

// Release: whoever destroys the queue after this must not be overtaken by what the caller has done with it.
void hrt_wait_queue_cancel(hrt_wait_queue_t *queue) { HRT_FETCH_SUB(&queue->state, 1, HRT_RELEASE); }

int hrt_wait_queue_wait(hrt_wait_queue_t *queue, uint32_t ticket, uint64_t deadline_ns) {
    int status = hrt_wait(&queue->sequence, ticket, deadline_ns, 0);
    if (HRT_LOAD(&queue->sequence, HRT_ACQUIRE) != ticket) {
        status = HRT_OK;
    }
    hrt_wait_queue_cancel(queue);
    return status == HRT_EAGAIN ? HRT_OK : status;
}

int hrt_wait_queue_wait_for(hrt_wait_queue_t *queue, bool (*predicate)(void *arg), void *arg,
                            uint64_t deadline_ns) {
    for (;;) {
        uint32_t ticket;
        int status = hrt_wait_queue_prepare(queue, &ticket);
        if (status != HRT_OK) {
            return status;
        }
        if (predicate(arg)) {
            hrt_wait_queue_cancel(queue);
            return HRT_OK;
        }
        status = hrt_wait_queue_wait(queue, ticket, deadline_ns);
        if (status == HRT_ETIMEDOUT) {
            return predicate(arg) ? HRT_OK : status;
        }
        if (hrt_wait_failed(status)) {
            return status;
        }
    }
}

int hrt_wait_queue_wake_slow(hrt_wait_queue_t *queue, uint32_t count, uint32_t flags) {
    if (!is_queue(HRT_LOAD(&queue->state, HRT_RELAXED))) {
        return HRT_EINVAL;
    }
    HRT_FETCH_ADD(&queue->sequence, 1, HRT_RELEASE);
    // From here on a waiter may have left and destroyed the queue: only its address is used.
    hrt_wake(&queue->sequence, count, flags);
    return HRT_OK;
}
