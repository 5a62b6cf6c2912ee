/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Generated from abi/hrt/src/sync.rs, which is the place for changes. */
/* clang-format off */

#ifndef HADAL_HRT_LAYOUT_SYNC_H
#define HADAL_HRT_LAYOUT_SYNC_H

#include "../base.h"

// Interrupt the woken thread's CPU if it sleeps or runs something less urgent.
#define HRT_WAKE_KICK 0u

// No interrupt: the thread runs when its CPU looks next, at most 1 ms later.
#define HRT_WAKE_NO_KICK 1u

// Signals do not end the wait; they are handled when it is over.
#define HRT_WAIT_NO_INTR 1u

// The count that wakes all.
#define HRT_WAKE_ALL UINT32_MAX

// Magic of a mutex: the upper half of `word`.
#define HRT_MUTEX_MAGIC 0x4d540000u

// Magic of a reader-writer lock: the bits 24 to 31 of `state`.
#define HRT_RWLOCK_MAGIC 0x52000000ull

// Magic of a wait queue: the upper 12 bits of `state`.
#define HRT_WAIT_QUEUE_MAGIC 0x57100000u

// Magic of a semaphore: the upper 12 bits of `state`.
#define HRT_SEM_MAGIC 0x5e40000000000000ull

// The highest value of a semaphore.
#define HRT_SEM_MAX 0x7fffffffu

// How often a mutex may be locked, and by whom.
enum hrt_mutex_kind {
    // No owner: locking it twice waits for ever, any thread may unlock it.
    HRT_MUTEX_NORMAL = 0,
    // Knows its owner: HRT_EDEADLK and HRT_EPERM instead.
    HRT_MUTEX_ERROR_CHECKING = 1,
    // Knows its owner, who may lock it again.
    HRT_MUTEX_RECURSIVE = 2,
};

// Test-and-set: the cheapest when it is rarely contended, and unfair.
struct hrt_spin {
    // 1 while somebody holds it.
    uint32_t held;
};

// The word is magic, kind, and two bits of state, so that the inline paths check all of them with one
// compare-and-swap. A waiter spins for a bounded while as long as nobody sleeps, where there is more than
// one CPU, and then sleeps.
struct hrt_mutex {
    // Magic, kind and state.
    uint32_t word;
    // Of the recursive kind, less one.
    uint32_t depth;
    // Not of the normal kind.
    hrt_thread_t owner;
};

// One writer or many readers. By default a reader joins other readers past waiting writers, so a thread may
// read-lock again what it has read-locked; with HRT_RWLOCK_PREFER_WRITER it waits behind them, and may not.
struct hrt_rwlock {
    // Readers see, and sleep on, the lower half; writers sleep on the upper one.
    uint64_t state;
};

// Threads that wait for something to become true, without a lock.
struct hrt_wait_queue {
    // Grows with every wake; sleepers wait for that.
    uint32_t sequence;
    // Magic and how many are between prepare and the end of wait.
    uint32_t state;
};

// A wait queue that hands back a mutex. Threads that need no lock to look wait on `queue` itself: prepare,
// look, wait; signal and broadcast reach both, and none of the woken has to queue for a mutex.
struct hrt_cond {
    // Who waits.
    struct hrt_wait_queue queue;
};

// One 64-bit word, so that a post touches the object once: whoever it lets go on may destroy it.
struct hrt_sem {
    // Value in the lower half; number of waiters and magic in the upper one.
    uint64_t state;
};

#endif  /* HADAL_HRT_LAYOUT_SYNC_H */
