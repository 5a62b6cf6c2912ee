/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Synchronisation. Objects are plain memory, initialised by their macro or init function; uncontended paths
 * are inline and never enter the kernel, all waiting goes through hrt_wait(). The slow paths are in libhrt
 * (runtimes/hrt/sync), the same source on the kernel and on Linux, and what the model checker runs.
 *
 * Every object but the spin locks knows when it is not one: used before init or after destroy, it gives
 * HRT_EINVAL.
 */
#ifndef HADAL_HRT_SYNC_H
#define HADAL_HRT_SYNC_H

#include "calls.h"

HRT_BEGIN

/* --- wait queues: words of memory
 * -------------------------------------------------------------------------------------- */

#define HRT_WAKE_KICK 0u    /* interrupt the woken thread's CPU if it sleeps or runs something less urgent */
#define HRT_WAKE_NO_KICK 1u /* no interrupt: the thread runs when its CPU looks next, at most 1 ms later */
#define HRT_WAIT_NO_INTR 1u /* signals do not end the wait; they are handled when it is over */

static inline int hrt_wait(const uint32_t *word, uint32_t expected, uint64_t deadline_ns, uint32_t flags) {
    return hrt_calls->wait(word, expected, deadline_ns, flags);
}
static inline uint32_t hrt_wake(const uint32_t *word, uint32_t count, uint32_t flags) {
    return hrt_calls->wake(word, count, flags);
}

/* The owner of synchronisation.h defines here (see the specification):
 *   hrt_spin_t (test-and-set with pause), hrt_ticket_t, hrt_mcs_t + hrt_mcs_node_t
 *   hrt_mutex_t (normal, error-checking, recursive), hrt_rwlock_t, hrt_cond_t, hrt_sem_t
 *   hrt_barrier_t (central, dissemination, tree by topology), hrt_once_t, hrt_wait_queue_t
 */

HRT_END

#endif
