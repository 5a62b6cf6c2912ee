// SPDX-License-Identifier: Apache-2.0 OR MIT
// Spin locks. The holder may be another thread of this CPU, so who has spun for a while lets it run.
#include "thread.h"

#define SPINS_BEFORE_YIELD 1000

_Static_assert(sizeof(hrt_spin_t) == sizeof(pthread_spinlock_t), "layout");

static hrt_spin_t *view(pthread_spinlock_t *lock) { return (hrt_spin_t *)lock; }

int pthread_spin_init(pthread_spinlock_t *lock, int shared) {
    (void)shared;
    hrt_spin_init(view(lock));
    return 0;
}

int pthread_spin_destroy(pthread_spinlock_t *lock) {
    (void)lock;
    return 0;
}

int pthread_spin_trylock(pthread_spinlock_t *lock) { return hrt_spin_trylock(view(lock)); }

int pthread_spin_lock(pthread_spinlock_t *lock) {
    for (unsigned spins = 1; hrt_spin_trylock(view(lock)) != HRT_OK; spins++) {
        while (HRT_LOAD(&view(lock)->held, HRT_RELAXED) != 0 && spins % SPINS_BEFORE_YIELD != 0) {
            spins++;
            HRT_PAUSE();
        }
        if (spins % SPINS_BEFORE_YIELD == 0) {
            hrt_calls->thread_yield();
        }
    }
    return 0;
}

int pthread_spin_unlock(pthread_spinlock_t *lock) {
    hrt_spin_unlock(view(lock));
    return 0;
}
