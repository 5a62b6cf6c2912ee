// SPDX-License-Identifier: Apache-2.0 OR MIT
// What waiters do for locks of both kinds (lock.h, api/simple_lock.h): they spin where the holder can run
// meanwhile, then yield, then sleep.
#ifndef HADAL_OMP_LOCK_WAIT_H
#define HADAL_OMP_LOCK_WAIT_H

#include "irq.h"

namespace hadal::omp {

inline constexpr uint32_t LOCK_LATE_MAX = 4; // wakes in vain before a waiter counts as starved

// How a lock is, of which a look takes what is free.
enum class Look { Taken, Held, Hopeless };

// How often a waiter may look.
uint32_t lock_spins_allowed();

// True if a look has taken the lock.
template <typename Try> bool lock_spin(Try look) {
    constexpr uint32_t PAUSES_MAX = 32, YIELDS = 3;
    // Less and less often: each look takes the line from the holder, who could do several turns in that time.
    uint32_t pauses = 1;
    for (uint32_t spins = lock_spins_allowed(); spins > 0;) {
        Look found = look();
        if (found != Look::Held) {
            return found == Look::Taken;
        }
        uint32_t turn = pauses < spins ? pauses : spins;
        pauses = pauses < PAUSES_MAX ? 2 * pauses : PAUSES_MAX;
        for (spins -= turn; turn > 0; turn--) {
            HRT_PAUSE();
        }
    }
    for (uint32_t yields = 0; yields < YIELDS; yields++) {
        Look found = look();
        if (found != Look::Held) {
            return found == Look::Taken;
        }
        hrt_thread_yield();
    }
    return false;
}

// Waits until a look has taken the lock, or `sleep`, which does.
template <typename Try, typename Sleep> void lock_wait(Try look, Sleep sleep) {
    if (lock_spin(look)) {
        return;
    }
    if (const Member *me = current) {
        IrqPause interrupts(*me->thread);
        sleep();
    } else {
        sleep();
    }
}

} // namespace hadal::omp

#endif
