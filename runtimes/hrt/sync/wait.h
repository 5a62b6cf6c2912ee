/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the waiting paths of all objects have in common, and what they share with the pthread layer. */
#ifndef HADAL_RUNTIMES_HRT_SYNC_WAIT_H
#define HADAL_RUNTIMES_HRT_SYNC_WAIT_H

#include <hadal/hrt/sync.h>

/* How often to look again before sleeping: never where whoever is waited for cannot run meanwhile, perhaps
 * because the waiter has its core. */
static inline unsigned hrt_spins(uint32_t runnable) {
    uint32_t cpus = hrt_calls->cpu_count();
    return cpus > 1 && runnable <= cpus && hrt_calls->core_count() == cpus ? HRT_SPINS : 0;
}

/* True when a wait on a word is over for good: not woken, not too late to sleep, not only interrupted. */
static inline bool hrt_wait_failed(int status) {
    return status != HRT_OK && status != HRT_EAGAIN && status != HRT_EINTR;
}

/* The halves of a 64-bit state word that threads sleep on. */
static inline const uint32_t *hrt_lower_half(const uint64_t *state) { return (const uint32_t *)state; }
static inline const uint32_t *hrt_upper_half(const uint64_t *state) { return (const uint32_t *)state + 1; }

/* Unlocks however often a recursive mutex is locked; hrt_mutex_relock() restores that. */
int hrt_mutex_unlock_wholly(hrt_mutex_t *mutex, uint32_t *depth);
int hrt_mutex_relock(hrt_mutex_t *mutex, uint32_t depth);

/* The parts of a wait for a semaphore. Takes one (HRT_OK) or becomes a waiter (HRT_EAGAIN), who then sleeps
 * on the lower half while that is 0. */
int hrt_sem_take_or_announce(hrt_sem_t *sem);
/* A waiter takes one if there is one, and is none any more. */
bool hrt_sem_take_as_waiter(hrt_sem_t *sem);
/* The waiter goes, with one if there is one: decided in one step, so that no post counts on a waiter that has
 * gone. */
bool hrt_sem_take_or_leave(hrt_sem_t *sem);

/* Fills in the stations of a tree barrier; HRT_EINVAL: no such CPU; HRT_ENOMEM. */
int hrt_barrier_plant(hrt_barrier_t *barrier, const uint32_t *cpus);

#endif
