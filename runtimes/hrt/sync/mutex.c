// SPDX-License-Identifier: Apache-2.0 OR MIT
// Mutex: waiting, waking, and the kinds that know their owner.
#include "wait.h"

static uint32_t kind_of(uint32_t word) { return word >> 4 & 0xfu; }

static bool is_mutex(uint32_t word) {
    uint32_t state = word & (HRT_MUTEX_HELD | HRT_MUTEX_SLEEPERS);
    return kind_of(word) <= HRT_MUTEX_RECURSIVE && (word ^ state) == HRT_MUTEX_FREE(kind_of(word));
}

// Takes the word of whatever kind. A thread that has slept takes it with SLEEPERS set, since the wake that it
// got cleared the flag and others may still sleep.
static int acquire(hrt_mutex_t *mutex, uint32_t free, uint64_t deadline_ns) {
    uint32_t held = free | HRT_MUTEX_HELD;
    uint32_t contended = held | HRT_MUTEX_SLEEPERS;
    uint32_t mine = held;
    unsigned spins = hrt_spins(0);
    for (;;) {
        uint32_t word = HRT_LOAD(&mutex->word, HRT_RELAXED);
        if (word == free) {
            if (HRT_CAS(&mutex->word, &word, mine, HRT_ACQUIRE)) {
                return HRT_OK;
            }
            continue;
        }
        if (word == held) {
            // Nobody sleeps, so the holder is probably running: on another CPU, or we would not be.
            if (spins > 0) {
                spins--;
                HRT_PAUSE();
                continue;
            }
            if (!HRT_CAS(&mutex->word, &word, contended, HRT_RELAXED)) {
                continue;
            }
        } else if (word != contended) {
            return HRT_EINVAL;
        }
        int status = hrt_wait(&mutex->word, contended, deadline_ns, 0);
        if (hrt_wait_failed(status)) {
            return status;
        }
        mine = contended;
    }
}

static int release(hrt_mutex_t *mutex, uint32_t free) {
    uint32_t word = HRT_LOAD(&mutex->word, HRT_RELAXED);
    do {
        if (!is_mutex(word)) {
            return HRT_EINVAL;
        }
        if ((word & HRT_MUTEX_HELD) == 0) {
            return HRT_EPERM;
        }
    } while (!HRT_CAS(&mutex->word, &word, free, HRT_RELEASE));
    // The next holder may have destroyed the mutex by now: only its address is used.
    if ((word & HRT_MUTEX_SLEEPERS) != 0) {
        hrt_wake(&mutex->word, 1, HRT_WAKE_KICK);
    }
    return HRT_OK;
}

// Only the owner itself can find its own name here, so relaxed accesses are enough.
static bool is_mine(const hrt_mutex_t *mutex) {
    return HRT_LOAD(&mutex->owner, HRT_RELAXED) == hrt_calls->thread_self();
}

static int relock(hrt_mutex_t *mutex, uint32_t kind) {
    if (kind == HRT_MUTEX_ERROR_CHECKING) {
        return HRT_EDEADLK;
    }
    if (mutex->depth == UINT32_MAX) {
        return HRT_EOVERFLOW;
    }
    mutex->depth++;
    return HRT_OK;
}

static void take_over(hrt_mutex_t *mutex, uint32_t kind, uint32_t depth) {
    if (kind != HRT_MUTEX_NORMAL) {
        HRT_STORE(&mutex->owner, hrt_calls->thread_self(), HRT_RELAXED);
        mutex->depth = depth;
    }
}

int hrt_mutex_init(hrt_mutex_t *mutex, uint32_t kind) {
    if (kind > HRT_MUTEX_RECURSIVE) {
        return HRT_EINVAL;
    }
    mutex->depth = 0;
    HRT_STORE(&mutex->owner, 0, HRT_RELAXED);
    HRT_STORE(&mutex->word, HRT_MUTEX_FREE(kind), HRT_RELAXED);
    return HRT_OK;
}

int hrt_mutex_destroy(hrt_mutex_t *mutex) {
    uint32_t word = HRT_LOAD(&mutex->word, HRT_RELAXED);
    do {
        if (!is_mutex(word)) {
            return HRT_EINVAL;
        }
        if ((word & HRT_MUTEX_HELD) != 0) {
            return HRT_EBUSY;
        }
    } while (!HRT_CAS(&mutex->word, &word, HRT_DEAD, HRT_ACQUIRE));
    return HRT_OK;
}

int hrt_mutex_lock_slow(hrt_mutex_t *mutex, uint64_t deadline_ns) {
    uint32_t word = HRT_LOAD(&mutex->word, HRT_RELAXED);
    if (!is_mutex(word)) {
        return HRT_EINVAL;
    }
    uint32_t kind = kind_of(word);
    if (kind != HRT_MUTEX_NORMAL && is_mine(mutex)) {
        return relock(mutex, kind);
    }
    int status = acquire(mutex, HRT_MUTEX_FREE(kind), deadline_ns);
    if (status == HRT_OK) {
        take_over(mutex, kind, 0);
    }
    return status;
}

int hrt_mutex_trylock_slow(hrt_mutex_t *mutex) {
    uint32_t word = HRT_LOAD(&mutex->word, HRT_RELAXED);
    if (!is_mutex(word)) {
        return HRT_EINVAL;
    }
    uint32_t kind = kind_of(word);
    if (kind != HRT_MUTEX_NORMAL && is_mine(mutex)) {
        return kind == HRT_MUTEX_RECURSIVE ? relock(mutex, kind) : HRT_EBUSY;
    }
    word = HRT_MUTEX_FREE(kind);
    if (!HRT_CAS(&mutex->word, &word, word | HRT_MUTEX_HELD, HRT_ACQUIRE)) {
        return is_mutex(word) ? HRT_EBUSY : HRT_EINVAL;
    }
    take_over(mutex, kind, 0);
    return HRT_OK;
}

int hrt_mutex_unlock_slow(hrt_mutex_t *mutex) {
    uint32_t word = HRT_LOAD(&mutex->word, HRT_RELAXED);
    uint32_t kind = kind_of(word);
    if (is_mutex(word) && kind != HRT_MUTEX_NORMAL) {
        if (!is_mine(mutex)) {
            return HRT_EPERM;
        }
        if (mutex->depth > 0) {
            mutex->depth--;
            return HRT_OK;
        }
        HRT_STORE(&mutex->owner, 0, HRT_RELAXED);
    }
    return release(mutex, HRT_MUTEX_FREE(kind));
}

int hrt_mutex_unlock_wholly(hrt_mutex_t *mutex, uint32_t *depth) {
    uint32_t word = HRT_LOAD(&mutex->word, HRT_RELAXED);
    uint32_t kind = kind_of(word);
    *depth = 0;
    if (is_mutex(word) && kind != HRT_MUTEX_NORMAL) {
        if (!is_mine(mutex)) {
            return HRT_EPERM;
        }
        *depth = mutex->depth;
        HRT_STORE(&mutex->owner, 0, HRT_RELAXED);
    }
    return release(mutex, HRT_MUTEX_FREE(kind));
}

int hrt_mutex_relock(hrt_mutex_t *mutex, uint32_t depth) {
    uint32_t kind = kind_of(HRT_LOAD(&mutex->word, HRT_RELAXED));
    int status = acquire(mutex, HRT_MUTEX_FREE(kind), HRT_FOREVER);
    if (status == HRT_OK) {
        take_over(mutex, kind, depth);
    }
    return status;
}
