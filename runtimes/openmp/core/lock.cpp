// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a lock's waiters do: they spin where the holder can run meanwhile, then yield, then sleep. Who finds
// the lock free takes it, asleep or not: that is fastest. A sleeper that was too late several times asks for
// the lock to be handed on, so that nobody starves.
#include "lock.h"

#include "irq.h"

namespace hadal::omp {

namespace {

// Several times what it costs to wake a sleeper: while somebody sleeps, each unlock wakes one, in vain.
constexpr uint32_t SPINS_MAX = 20000;
constexpr uint32_t YIELDS = 3;
constexpr uint32_t LATE_MAX = 4; // wakes in vain before a waiter counts as starved
constexpr uint32_t BACKOFF_MAX = 32;

bool take(Lock &lock, uint32_t from, uint32_t to) { return HRT_CAS(&lock.word, &from, to, HRT_ACQUIRE); }

// As long as the team of the caller may spin at all: not where its members have to share CPUs.
uint32_t spins_allowed() {
    if (hrt_core_count() < 2 || hrt_core_count() < hrt_cpu_count()) {
        return 0;
    }
    const Member *me = current;
    if (me == nullptr || me->size == 1) {
        return SPINS_MAX;
    }
    return me->team->spins < SPINS_MAX ? me->team->spins : SPINS_MAX;
}

// Looks again and again, less and less often; true if it has got the lock. Each look takes the line from the
// holder, who could do several turns in that time.
bool spin(Lock &lock) {
    uint32_t pauses = 1;
    for (uint32_t spins = spins_allowed(); spins > 0;) {
        uint32_t word = HRT_LOAD(&lock.word, HRT_RELAXED);
        if (word == LOCK_FREE) {
            if (take(lock, LOCK_FREE, LOCK_HELD)) {
                return true;
            }
        } else if (word >= LOCK_STARVED) {
            return false;
        }
        uint32_t turn = pauses < spins ? pauses : spins;
        pauses = pauses < BACKOFF_MAX ? 2 * pauses : BACKOFF_MAX;
        for (spins -= turn; turn > 0; turn--) {
            HRT_PAUSE();
        }
    }
    for (uint32_t yields = 0; yields < YIELDS && HRT_LOAD(&lock.word, HRT_RELAXED) < LOCK_STARVED; yields++) {
        if (take(lock, LOCK_FREE, LOCK_HELD)) {
            return true;
        }
        hrt_thread_yield();
    }
    return false;
}

} // namespace

static void sleep_and_take(Lock &lock);

// No state of a lock is larger: nobody would ever unlock this one.
static void check_initialised(uint32_t word) {
    if (HRT_UNLIKELY(word > LOCK_HANDED)) {
        fatal("a lock is used that is not initialised");
    }
}

void lock_slow(Lock &lock) {
    check_initialised(HRT_LOAD(&lock.word, HRT_RELAXED));
    if (spin(lock)) {
        return;
    }
    if (const Member *me = current) {
        IrqPause interrupts(*me->thread);
        sleep_and_take(lock);
    } else {
        sleep_and_take(lock);
    }
}

static void sleep_and_take(Lock &lock) {
    // From here on the caller is one of the sleepers. Whoever of them gets the lock does not know whether
    // there are others, and says that there are.
    for (uint32_t late = 0;;) {
        uint32_t word = HRT_LOAD(&lock.word, HRT_RELAXED);
        if (word == LOCK_FREE || word == LOCK_HANDED) {
            if (take(lock, word, LOCK_AWAITED)) {
                return;
            }
            continue;
        }
        uint32_t wanted = late < LATE_MAX ? LOCK_AWAITED : LOCK_STARVED;
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

void unlock_slow(Lock &lock) {
    uint32_t word = HRT_LOAD(&lock.word, HRT_RELAXED);
    uint32_t next;
    check_initialised(word);
    do {
        // The program unlocks what is not locked, which has no meaning: nothing is done.
        if (word == LOCK_FREE || word == LOCK_HANDED) {
            return;
        }
        next = word == LOCK_STARVED ? LOCK_HANDED : LOCK_FREE;
    } while (!HRT_CAS(&lock.word, &word, next, HRT_RELEASE));
    // If it is free, somebody may have destroyed it by now: only its address is used. If it is handed on,
    // there is a sleeper, or somebody about to become one, who takes it.
    if (word != LOCK_HELD) {
        hrt_wake(&lock.word, 1, HRT_WAKE_KICK);
    }
}

} // namespace hadal::omp
