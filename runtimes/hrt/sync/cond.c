// SPDX-License-Identifier: Apache-2.0 OR MIT
// Condition variable: a wait queue and a mutex. Woken threads compete for the mutex where they are, spinning
// first: handing them over one by one (requeueing) would make the last of a broadcast wait for a chain of
// wake-ups.
#include "wait.h"

int hrt_cond_wait_until(hrt_cond_t *cond, hrt_mutex_t *mutex, uint64_t deadline_ns) {
    uint32_t ticket;
    int status = hrt_wait_queue_prepare(&cond->queue, &ticket);
    if (status != HRT_OK) {
        return status;
    }
    uint32_t depth;
    status = hrt_mutex_unlock_wholly(mutex, &depth);
    if (status != HRT_OK) {
        hrt_wait_queue_cancel(&cond->queue);
        return status;
    }
    int waited = hrt_wait_queue_wait(&cond->queue, ticket, deadline_ns);
    status = hrt_mutex_relock(mutex, depth);
    if (status != HRT_OK) {
        return status;
    }
    return waited == HRT_EINTR ? HRT_OK : waited;
}
