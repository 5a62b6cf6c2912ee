// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a lock's waiters do: they spin where the holder can run meanwhile, then yield, then sleep. Who finds
// the lock free takes it, asleep or not: that is fastest. A sleeper that was too late several times asks for
// the lock to be handed on, so that nobody starves.
#include "simple_lock.h"

#include "core/lock_wait.h"

namespace hadal::omp {

namespace {

bool take(SimpleLock &lock, uint32_t from, uint32_t to) {
    return HRT_CAS(&lock.word, &from, to, HRT_ACQUIRE);
}

} // namespace

static void sleep_and_take(SimpleLock &lock);

// No state of a lock is larger: nobody would ever unlock this one.
static void check_initialised(uint32_t word) {
    if (HRT_UNLIKELY(word > SIMPLE_TOLD)) {
        fatal("a lock is used that is not initialised");
    }
}

void lock_slow(SimpleLock &lock) {
    check_initialised(HRT_LOAD(&lock.word, HRT_RELAXED));
    auto look = [&] {
        uint32_t word = HRT_LOAD(&lock.word, HRT_RELAXED);
        if (word == SIMPLE_STARVED || word == SIMPLE_HANDED) {
            return Look::Hopeless;
        }
        return is_free(word) && take(lock, word, SIMPLE_HELD) ? Look::Taken : Look::Held;
    };
    lock_wait(look, [&] { sleep_and_take(lock); });
}

static void sleep_and_take(SimpleLock &lock) {
    // From here on the caller is one of the sleepers. Whoever of them gets the lock does not know whether
    // there are others, and says that there are.
    for (uint32_t late = 0;;) {
        uint32_t word = HRT_LOAD(&lock.word, HRT_RELAXED);
        if (is_free(word) || word == SIMPLE_HANDED) {
            if (take(lock, word, SIMPLE_AWAITED)) {
                return;
            }
            continue;
        }
        uint32_t wanted = late < LOCK_LATE_MAX ? SIMPLE_AWAITED : SIMPLE_STARVED;
        if (word < wanted) {
            if (!HRT_CAS(&lock.word, &word, wanted, HRT_RELAXED)) {
                continue;
            }
            word = wanted;
        }
        if (hrt_wait(&lock.word, word, HRT_FOREVER, HRT_WAIT_NO_INTR) == HRT_OK) {
            late++;
        }
    }
}

void unlock_slow(SimpleLock &lock, uint32_t free) {
    uint32_t word = HRT_LOAD(&lock.word, HRT_RELAXED);
    uint32_t next;
    check_initialised(word);
    do {
        // The program unlocks what is not locked, which has no meaning: nothing is done.
        if (is_free(word) || word == SIMPLE_HANDED) {
            return;
        }
        next = word == SIMPLE_STARVED ? SIMPLE_HANDED : free;
    } while (!HRT_CAS(&lock.word, &word, next, HRT_RELEASE));
    // If it is free, somebody may have destroyed it by now: only its address is used. If it is handed on,
    // there is a sleeper, or somebody about to become one, who takes it.
    if (word != SIMPLE_HELD) {
        hrt_wake(&lock.word, 1, HRT_WAKE_KICK);
    }
}

} // namespace hadal::omp
