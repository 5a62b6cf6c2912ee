// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a lock's waiters do: they spin where the holder can run meanwhile, then yield, then sleep. Who finds
// the lock free takes it, asleep or not: that is fastest. A sleeper that was too late several times asks for
// the lock to be handed on, so that nobody starves.
//
// Sleepers wait on `awaited`, which they set before they look at the lock for the last time; an unlock that
// finds it set clears it and wakes one. Whoever clears it between that look and the sleep keeps the sleeper
// awake, and who wakes up sets it again, for others that may sleep.
#include "lock.h"

#include "lock_wait.h"

namespace hadal::omp {

namespace {

// Several times what it costs to wake a sleeper: while somebody sleeps, each unlock wakes one, in vain.
constexpr uint32_t SPINS_MAX = 20000;
// Longer than any processor keeps a store to itself: who has told of its sleep that long ago is seen by each
// unlock.
constexpr uint64_t STORES_SEEN_NS = 1'000'000;

bool take(Lock &lock, uint32_t from) { return HRT_CAS(&lock.turn, &from, LOCK_HELD, HRT_ACQUIRE); }

void check_initialised(uint32_t turn) {
    if (HRT_UNLIKELY(turn > LOCK_TOLD)) {
        fatal("a lock is used that is not initialised");
    }
}

void sleep_and_take(Lock &lock) {
    uint64_t deadline_ns = HRT_FOREVER;
    for (uint32_t late = 0;;) {
        uint32_t wanted = late < LOCK_LATE_MAX ? LOCK_AWAITED : LOCK_STARVING;
        uint32_t awaited = HRT_LOAD(&lock.awaited, HRT_ACQUIRE);
        if (awaited < wanted) {
            bool is_first = awaited == LOCK_NOT_AWAITED;
            if (!HRT_CAS(&lock.awaited, &awaited, wanted, HRT_ACQ_REL)) {
                continue;
            }
            HRT_FENCE_AFTER_UPDATE();
            awaited = wanted;
            if (is_first) {
                // An unlock of this moment may not see it, and the look below not that unlock.
                deadline_ns = hrt_now_ns() + STORES_SEEN_NS;
            }
        }
        uint32_t turn = HRT_LOAD(&lock.turn, HRT_RELAXED);
        if (turn != LOCK_HELD) {
            // Whether others sleep is not known: `awaited` stays set.
            if (take(lock, turn)) {
                return;
            }
            continue;
        }
        int result = hrt_wait(&lock.awaited, awaited, deadline_ns, HRT_WAIT_NO_INTR);
        if (result == HRT_OK) {
            late++;
        } else if (result == HRT_ETIMEDOUT) {
            deadline_ns = HRT_FOREVER;
        }
    }
}

} // namespace

// As long as the team of the caller may spin at all: not where its members have to share CPUs.
uint32_t lock_spins_allowed() {
    if (hrt_core_count() < 2 || hrt_core_count() < hrt_cpu_count()) {
        return 0;
    }
    const Member *me = current;
    if (me == nullptr || me->size == 1) {
        return SPINS_MAX;
    }
    return me->team->spins < SPINS_MAX ? me->team->spins : SPINS_MAX;
}

void lock_slow(Lock &lock) {
    check_initialised(HRT_LOAD(&lock.turn, HRT_RELAXED));
    auto look = [&] {
        uint32_t turn = HRT_LOAD(&lock.turn, HRT_RELAXED);
        if (turn == LOCK_HANDED) {
            return Look::Hopeless;
        }
        return turn != LOCK_HELD && take(lock, turn) ? Look::Taken : Look::Held;
    };
    lock_wait(look, [&] { sleep_and_take(lock); });
}

void lock_wake(Lock &lock) {
    if (HRT_EXCHANGE(&lock.awaited, LOCK_NOT_AWAITED, HRT_ACQ_REL) == LOCK_STARVING) {
        // Unless somebody has taken it meanwhile, whose unlock does this again.
        uint32_t turn = HRT_LOAD(&lock.turn, HRT_RELAXED);
        if (turn == LOCK_FREE || turn == LOCK_TOLD) {
            HRT_CAS(&lock.turn, &turn, LOCK_HANDED, HRT_RELEASE);
        }
    }
    hrt_wake(&lock.awaited, 1, HRT_WAKE_KICK);
}

} // namespace hadal::omp
