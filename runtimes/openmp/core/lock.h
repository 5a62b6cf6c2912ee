// SPDX-License-Identifier: Apache-2.0 OR MIT
// A lock of four bytes, free when zero: `critical`, atomic regions, omp_lock_t.
#ifndef HADAL_OMP_LOCK_H
#define HADAL_OMP_LOCK_H

#include <cstdint>

#include <hadal/hrt.h>

namespace hadal::omp {

struct Lock {
    uint32_t word = 0; // LOCK_*
};
// Held: by somebody; awaited: held, and somebody sleeps; starved: the same, and the unlock has to hand the
// lock on instead of freeing it; handed: it waits for one of the sleepers.
inline constexpr uint32_t LOCK_FREE = 0, LOCK_HELD = 1, LOCK_AWAITED = 2, LOCK_STARVED = 3, LOCK_HANDED = 4;

void lock_slow(Lock &lock);
void unlock_slow(Lock &lock);

inline void lock(Lock &lock) {
    uint32_t word = LOCK_FREE;
    if (HRT_UNLIKELY(!HRT_CAS(&lock.word, &word, LOCK_HELD, HRT_ACQUIRE))) {
        lock_slow(lock);
    }
}
inline bool try_lock(Lock &lock) {
    uint32_t word = LOCK_FREE;
    return HRT_LOAD(&lock.word, HRT_RELAXED) == LOCK_FREE &&
           HRT_CAS(&lock.word, &word, LOCK_HELD, HRT_ACQUIRE);
}
inline void unlock(Lock &lock) {
    uint32_t word = LOCK_HELD;
    if (HRT_UNLIKELY(!HRT_CAS(&lock.word, &word, LOCK_FREE, HRT_RELEASE))) {
        unlock_slow(lock);
    }
}

} // namespace hadal::omp

#endif
