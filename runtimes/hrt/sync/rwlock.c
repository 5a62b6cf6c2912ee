// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reader-writer lock. All decisions are made by one compare-and-swap of the whole state, and each wake
// follows from the flag that this cleared. A waiter sets its side's flag before it sleeps, and its half of
// the word is what it sleeps on: so the half cannot have changed back unnoticed without the flag still being
// there to wake it.
#include "wait.h"

static bool is_rwlock(uint64_t state) { return (state & HRT_RWLOCK_MAGIC_MASK) == HRT_RWLOCK_MAGIC; }

static bool may_read(uint64_t state) {
    bool behind_writers = (state & HRT_RWLOCK_WRITERS_FIRST) != 0 && (state & HRT_RWLOCK_WRITERS) != 0;
    return (state & HRT_RWLOCK_WRITER) == 0 && !behind_writers;
}

static bool may_write(uint64_t state) { return (state & (HRT_RWLOCK_WRITER | HRT_RWLOCK_READERS)) == 0; }

int hrt_rwlock_init(hrt_rwlock_t *lock, uint32_t flags) {
    if ((flags & ~HRT_RWLOCK_PREFER_WRITER) != 0) {
        return HRT_EINVAL;
    }
    uint64_t order = (flags & HRT_RWLOCK_PREFER_WRITER) != 0 ? HRT_RWLOCK_WRITERS_FIRST : 0;
    HRT_STORE(&lock->state, HRT_RWLOCK_MAGIC | order, HRT_RELAXED);
    return HRT_OK;
}

int hrt_rwlock_destroy(hrt_rwlock_t *lock) {
    uint64_t state = HRT_LOAD(&lock->state, HRT_RELAXED);
    do {
        if (!is_rwlock(state)) {
            return HRT_EINVAL;
        }
        if (!may_write(state) || (state & HRT_RWLOCK_WRITERS) != 0) {
            return HRT_EBUSY;
        }
    } while (!HRT_CAS(&lock->state, &state, HRT_DEAD, HRT_ACQUIRE));
    return HRT_OK;
}

int hrt_rwlock_tryrdlock(hrt_rwlock_t *lock) {
    uint64_t state = HRT_LOAD(&lock->state, HRT_RELAXED);
    do {
        if (!is_rwlock(state)) {
            return HRT_EINVAL;
        }
        if (!may_read(state)) {
            return HRT_EBUSY;
        }
        if ((state & HRT_RWLOCK_READERS) >= HRT_RWLOCK_READERS_MAX) {
            return HRT_EAGAIN;
        }
    } while (!HRT_CAS(&lock->state, &state, state + 1, HRT_ACQUIRE));
    return HRT_OK;
}

int hrt_rwlock_trywrlock(hrt_rwlock_t *lock) {
    uint64_t state = HRT_LOAD(&lock->state, HRT_RELAXED);
    do {
        if (!is_rwlock(state)) {
            return HRT_EINVAL;
        }
        if (!may_write(state)) {
            return HRT_EBUSY;
        }
    } while (!HRT_CAS(&lock->state, &state, state | HRT_RWLOCK_WRITER, HRT_ACQUIRE));
    return HRT_OK;
}

int hrt_rwlock_rdlock_slow(hrt_rwlock_t *lock, uint64_t deadline_ns) {
    unsigned spins = hrt_spins(0);
    for (;;) {
        int status = hrt_rwlock_tryrdlock(lock);
        if (status != HRT_EBUSY) {
            return status;
        }
        uint64_t state = HRT_LOAD(&lock->state, HRT_RELAXED);
        if (!is_rwlock(state) || may_read(state)) {
            continue;
        }
        if (spins > 0) {
            spins--;
            HRT_PAUSE();
            continue;
        }
        uint64_t asleep = state | HRT_RWLOCK_READERS_ASLEEP;
        if (state != asleep && !HRT_CAS(&lock->state, &state, asleep, HRT_RELAXED)) {
            continue;
        }
        status = hrt_wait(hrt_lower_half(&lock->state), (uint32_t)asleep, deadline_ns, 0);
        if (hrt_wait_failed(status)) {
            return status;
        }
    }
}

// The caller is one of the waiting writers. The wake that let it come may have cleared the flag for all.
static bool take_as_waiter(hrt_rwlock_t *lock, uint64_t state) {
    uint64_t mine = (state - HRT_RWLOCK_ONE_WRITER) | HRT_RWLOCK_WRITER | HRT_RWLOCK_WRITERS_ASLEEP;
    if ((mine & HRT_RWLOCK_WRITERS) == 0) {
        mine &= ~HRT_RWLOCK_WRITERS_ASLEEP;
    }
    return HRT_CAS(&lock->state, &state, mine, HRT_ACQUIRE);
}

// A waiting writer gives up; readers that stood behind it and no other may go.
static void give_up(hrt_rwlock_t *lock) {
    uint64_t state = HRT_LOAD(&lock->state, HRT_RELAXED);
    uint64_t without;
    bool wake_readers;
    do {
        without = state - HRT_RWLOCK_ONE_WRITER;
        if ((without & HRT_RWLOCK_WRITERS) == 0) {
            without &= ~HRT_RWLOCK_WRITERS_ASLEEP;
        }
        wake_readers = (without & HRT_RWLOCK_READERS_ASLEEP) != 0 && may_read(without);
        if (wake_readers) {
            without &= ~HRT_RWLOCK_READERS_ASLEEP;
        }
    } while (!HRT_CAS(&lock->state, &state, without, HRT_RELAXED));
    if (wake_readers) {
        hrt_wake(hrt_lower_half(&lock->state), HRT_WAKE_ALL, HRT_WAKE_KICK);
    }
}

// Waits for its turn; the caller is counted among the waiting writers.
static int await_write(hrt_rwlock_t *lock, uint64_t deadline_ns) {
    unsigned spins = hrt_spins(0);
    for (;;) {
        uint64_t state = HRT_LOAD(&lock->state, HRT_RELAXED);
        if (may_write(state)) {
            if (take_as_waiter(lock, state)) {
                return HRT_OK;
            }
            continue;
        }
        if (spins > 0) {
            spins--;
            HRT_PAUSE();
            continue;
        }
        uint64_t asleep = state | HRT_RWLOCK_WRITERS_ASLEEP;
        if (state != asleep && !HRT_CAS(&lock->state, &state, asleep, HRT_RELAXED)) {
            continue;
        }
        int status = hrt_wait(hrt_upper_half(&lock->state), (uint32_t)(asleep >> 32), deadline_ns, 0);
        if (hrt_wait_failed(status)) {
            give_up(lock);
            return status;
        }
    }
}

int hrt_rwlock_wrlock_slow(hrt_rwlock_t *lock, uint64_t deadline_ns) {
    uint64_t state = HRT_LOAD(&lock->state, HRT_RELAXED);
    for (;;) {
        if (!is_rwlock(state)) {
            return HRT_EINVAL;
        }
        if (may_write(state)) {
            if (HRT_CAS(&lock->state, &state, state | HRT_RWLOCK_WRITER, HRT_ACQUIRE)) {
                return HRT_OK;
            }
        } else if (HRT_CAS(&lock->state, &state, state + HRT_RWLOCK_ONE_WRITER, HRT_RELAXED)) {
            return await_write(lock, deadline_ns);
        }
    }
}

int hrt_rwlock_unlock_slow(hrt_rwlock_t *lock) {
    uint64_t state = HRT_LOAD(&lock->state, HRT_RELAXED);
    uint64_t without;
    bool wake_writer;
    bool wake_readers;
    do {
        if (!is_rwlock(state)) {
            return HRT_EINVAL;
        }
        if (may_write(state)) {
            return HRT_EPERM;
        }
        without = (state & HRT_RWLOCK_WRITER) != 0 ? state & ~HRT_RWLOCK_WRITER : state - 1;
        bool is_free = may_write(without);
        wake_writer = is_free && (without & HRT_RWLOCK_WRITERS_ASLEEP) != 0;
        wake_readers = is_free && (without & HRT_RWLOCK_READERS_ASLEEP) != 0 && may_read(without);
        if (wake_writer) {
            without &= ~HRT_RWLOCK_WRITERS_ASLEEP;
        }
        if (wake_readers) {
            without &= ~HRT_RWLOCK_READERS_ASLEEP;
        }
    } while (!HRT_CAS(&lock->state, &state, without, HRT_RELEASE));
    // From here on the next holder may have destroyed the lock: only its address is used.
    if (wake_readers) {
        hrt_wake(hrt_lower_half(&lock->state), HRT_WAKE_ALL, HRT_WAKE_KICK);
    }
    if (wake_writer) {
        hrt_wake(hrt_upper_half(&lock->state), 1, HRT_WAKE_KICK);
    }
    return HRT_OK;
}
