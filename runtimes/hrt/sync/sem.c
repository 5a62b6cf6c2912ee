// SPDX-License-Identifier: Apache-2.0 OR MIT
// Semaphore: waiters sleep on the lower half of the state, the value, while it is 0.
#include "wait.h"

static bool is_sem(uint64_t state) { return (state & HRT_SEM_MAGIC_MASK) == HRT_SEM_MAGIC; }

static uint32_t value_of(uint64_t state) { return (uint32_t)state; }

int hrt_sem_init(hrt_sem_t *sem, uint32_t value) {
    if (value > HRT_SEM_MAX) {
        return HRT_EINVAL;
    }
    HRT_STORE(&sem->state, HRT_SEM_MAGIC | value, HRT_RELAXED);
    return HRT_OK;
}

int hrt_sem_destroy(hrt_sem_t *sem) {
    uint64_t state = HRT_LOAD(&sem->state, HRT_RELAXED);
    do {
        if (!is_sem(state)) {
            return HRT_EINVAL;
        }
        if ((state & HRT_SEM_WAITERS) != 0) {
            return HRT_EBUSY;
        }
    } while (!HRT_CAS(&sem->state, &state, HRT_DEAD, HRT_ACQUIRE));
    return HRT_OK;
}

int hrt_sem_value(hrt_sem_t *sem, uint32_t *value) {
    uint64_t state = HRT_LOAD(&sem->state, HRT_RELAXED);
    *value = value_of(state);
    return is_sem(state) ? HRT_OK : HRT_EINVAL;
}

int hrt_sem_take_or_announce(hrt_sem_t *sem) {
    uint64_t state = HRT_LOAD(&sem->state, HRT_RELAXED);
    for (;;) {
        if (!is_sem(state)) {
            return HRT_EINVAL;
        }
        if (value_of(state) > 0) {
            if (HRT_CAS(&sem->state, &state, state - 1, HRT_ACQUIRE)) {
                return HRT_OK;
            }
        } else if (HRT_CAS(&sem->state, &state, state + HRT_SEM_ONE_WAITER, HRT_RELAXED)) {
            return HRT_EAGAIN;
        }
    }
}

bool hrt_sem_take_as_waiter(hrt_sem_t *sem) {
    uint64_t state = HRT_LOAD(&sem->state, HRT_RELAXED);
    while (value_of(state) > 0) {
        if (HRT_CAS(&sem->state, &state, state - HRT_SEM_ONE_WAITER - 1, HRT_ACQUIRE)) {
            return true;
        }
    }
    return false;
}

bool hrt_sem_take_or_leave(hrt_sem_t *sem) {
    for (;;) {
        if (hrt_sem_take_as_waiter(sem)) {
            return true;
        }
        uint64_t state = HRT_LOAD(&sem->state, HRT_RELAXED);
        if (value_of(state) == 0 && HRT_CAS(&sem->state, &state, state - HRT_SEM_ONE_WAITER, HRT_RELAXED)) {
            return false;
        }
    }
}

int hrt_sem_wait_interruptible(hrt_sem_t *sem, uint64_t deadline_ns) {
    int status = hrt_sem_take_or_announce(sem);
    if (status != HRT_EAGAIN) {
        return status;
    }
    for (;;) {
        status = hrt_wait(hrt_lower_half(&sem->state), 0, deadline_ns, 0);
        if (status != HRT_OK && status != HRT_EAGAIN) {
            return hrt_sem_take_or_leave(sem) ? HRT_OK : status;
        }
        if (hrt_sem_take_as_waiter(sem)) {
            return HRT_OK;
        }
    }
}

int hrt_sem_post_slow(hrt_sem_t *sem) {
    uint64_t state = HRT_LOAD(&sem->state, HRT_RELAXED);
    do {
        if (!is_sem(state)) {
            return HRT_EINVAL;
        }
        if (value_of(state) >= HRT_SEM_MAX) {
            return HRT_EOVERFLOW;
        }
    } while (!HRT_CAS(&sem->state, &state, state + 1, HRT_RELEASE));
    // Whoever took it may have destroyed the semaphore by now: only its address is used.
    if ((state & HRT_SEM_WAITERS) != 0) {
        hrt_wake(hrt_lower_half(&sem->state), 1, HRT_WAKE_KICK);
    }
    return HRT_OK;
}
