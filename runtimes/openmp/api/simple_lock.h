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
// lock on instead of freeing it; handed: it waits for one of the sleepers.
inline constexpr uint32_t SIMPLE_FREE = 0, SIMPLE_HELD = 1, SIMPLE_AWAITED = 2, SIMPLE_STARVED = 3,
                          SIMPLE_HANDED = 4;

void lock_slow(SimpleLock &lock);
void unlock_slow(SimpleLock &lock);

inline void lock(SimpleLock &lock) {
    uint32_t word = SIMPLE_FREE;
    if (HRT_UNLIKELY(!HRT_CAS(&lock.word, &word, SIMPLE_HELD, HRT_ACQUIRE))) {
        lock_slow(lock);
    }
}
inline bool try_lock(SimpleLock &lock) {
    uint32_t word = SIMPLE_FREE;
    return HRT_LOAD(&lock.word, HRT_RELAXED) == SIMPLE_FREE &&
           HRT_CAS(&lock.word, &word, SIMPLE_HELD, HRT_ACQUIRE);
}
inline void unlock(SimpleLock &lock) {
    uint32_t word = SIMPLE_HELD;
    if (HRT_UNLIKELY(!HRT_CAS(&lock.word, &word, SIMPLE_FREE, HRT_RELEASE))) {
        unlock_slow(lock);
    }
}

} // namespace hadal::omp

#endif
