// SPDX-License-Identifier: Apache-2.0 OR MIT
// A lock in memory that stays as long as somebody may unlock it: `critical`, atomic regions, and what the
// run-time itself protects. Free when zero.
//
// An unlock is a store and a look, not a locked instruction, which costs several times as much. So it may
// miss a thread that goes to sleep at the same moment: the store still waits in its processor while the look
// is over. Who has to wake up by itself for that is the sleeper (lock.cpp).
#ifndef HADAL_OMP_LOCK_H
#define HADAL_OMP_LOCK_H

#include <cstdint>

#include <hadal/hrt.h>

namespace hadal::omp {

struct Lock {
    uint32_t turn = 0;    // LOCK_*
    uint32_t awaited = 0; // LOCK_*: sleepers wait on this word
};
// Turns. Handed: the lock waits for somebody who has been asleep. Told: free, but whoever takes it has to ask
// whether a tool wants to know of it.
inline constexpr uint32_t LOCK_FREE = 0, LOCK_HELD = 1, LOCK_HANDED = 2, LOCK_TOLD = 3;
// Awaited: by nobody; by somebody who may sleep; by one who was late so often that an unlock hands the lock
// on.
inline constexpr uint32_t LOCK_NOT_AWAITED = 0, LOCK_AWAITED = 1, LOCK_STARVING = 2;

void lock_slow(Lock &lock);
void lock_wake(Lock &lock);

// False if it is held, or whoever takes it has to ask.
inline bool lock_at_once(Lock &lock) {
    uint32_t turn = LOCK_FREE;
    return HRT_LIKELY(HRT_CAS(&lock.turn, &turn, LOCK_HELD, HRT_ACQUIRE));
}
inline void lock(Lock &lock) {
    if (!lock_at_once(lock)) {
        lock_slow(lock);
    }
}
// `free` is LOCK_FREE or LOCK_TOLD.
inline void unlock(Lock &lock, uint32_t free = LOCK_FREE) {
    HRT_STORE(&lock.turn, free, HRT_RELEASE);
    if (HRT_UNLIKELY(HRT_LOAD(&lock.awaited, HRT_RELAXED) != LOCK_NOT_AWAITED)) {
        lock_wake(lock);
    }
}

} // namespace hadal::omp

#endif
