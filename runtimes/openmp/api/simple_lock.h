// SPDX-License-Identifier: Apache-2.0 OR MIT
// A lock of four bytes, free when zero: omp_lock_t. Its memory may go as soon as the next holder has unlocked
// it, so an unlock does not look at it again.
#ifndef HADAL_OMP_SIMPLE_LOCK_H
#define HADAL_OMP_SIMPLE_LOCK_H

#include <cstdint>

#include "core/lock.h"

namespace hadal::omp {

struct SimpleLock {
    uint32_t word = 0; // SIMPLE_*
};
// Held: by somebody; awaited: held, and somebody sleeps; starved: the same, and the unlock has to hand the
// lock on instead of freeing it; handed: it waits for one of the sleepers; told: free in a run with a tool,
// so that whoever sets it looks for that.
inline constexpr uint32_t SIMPLE_FREE = 0, SIMPLE_HELD = 1, SIMPLE_AWAITED = 2, SIMPLE_STARVED = 3,
                          SIMPLE_HANDED = 4, SIMPLE_TOLD = 5;

void lock_slow(SimpleLock &lock);
// `free` is SIMPLE_FREE or SIMPLE_TOLD.
void unlock_slow(SimpleLock &lock, uint32_t free);

// False if it is held, or told.
inline bool lock_at_once(SimpleLock &lock) {
    uint32_t word = SIMPLE_FREE;
    return HRT_LIKELY(HRT_CAS(&lock.word, &word, SIMPLE_HELD, HRT_ACQUIRE));
}
inline bool is_free(uint32_t word) { return word == SIMPLE_FREE || word == SIMPLE_TOLD; }
inline bool try_lock(SimpleLock &lock) {
    uint32_t word = HRT_LOAD(&lock.word, HRT_RELAXED);
    return is_free(word) && HRT_CAS(&lock.word, &word, SIMPLE_HELD, HRT_ACQUIRE);
}
inline void unlock(SimpleLock &lock) {
    uint32_t word = SIMPLE_HELD;
    if (HRT_UNLIKELY(!HRT_CAS(&lock.word, &word, SIMPLE_FREE, HRT_RELEASE))) {
        unlock_slow(lock, SIMPLE_FREE);
    }
}

} // namespace hadal::omp

#endif
