// SPDX-License-Identifier: Apache-2.0 OR MIT
// Nestable locks, in eight bytes: all that Fortran and clang give them. They belong to tasks, which may set
// them again. A task is known by its address, of which 42 bits tell all tasks apart.
#include "core/lock.h"
#include "core/team.h"
#include "ompt/ompt.h"
#include "routine.h"

using namespace hadal::omp;

struct NestLock {
    uint64_t word; // 0: free
};

namespace {

// Somebody sleeps on the lower half; how often it is set; the owner.
constexpr uint64_t AWAITED = 1, ONCE = 2, TIMES_MASK = ((1ull << 22) - 1) & ~AWAITED,
                   OWNER_MASK = ~0ull << 22;

uint64_t owner_of(const Task *task) {
    static_assert(sizeof(Task) >= 64, "two tasks must differ in more than the last six bits");
    return reinterpret_cast<uintptr_t>(task) >> 6 << 22;
}

// How often the task holds the lock from now on; 0: another one has it.
int try_nest(NestLock &lock, uint64_t mine) {
    uint64_t word = HRT_LOAD(&lock.word, HRT_RELAXED);
    for (;;) {
        if (word == 0) {
            if (HRT_CAS(&lock.word, &word, mine | ONCE, HRT_ACQUIRE)) {
                return 1;
            }
        } else if ((word & OWNER_MASK) != mine) {
            return 0;
        } else if ((word & TIMES_MASK) == TIMES_MASK) {
            fatal("a nestable lock is set more than %llu times",
                  static_cast<unsigned long long>(TIMES_MASK / ONCE));
        } else if (HRT_CAS(&lock.word, &word, word + ONCE, HRT_RELAXED)) {
            return static_cast<int>(((word + ONCE) & TIMES_MASK) / ONCE);
        }
    }
}

uint32_t spins_allowed(const Member &me) {
    constexpr uint32_t spins_max = 200;
    if (hrt_core_count() < 2 || hrt_core_count() < hrt_cpu_count()) {
        return 0;
    }
    return me.size == 1 || me.team->spins > spins_max ? spins_max : me.team->spins;
}

[[gnu::noinline]] void wait_and_set(NestLock &lock, const Member &me, uint64_t mine) {
    const uint32_t *lower = reinterpret_cast<const uint32_t *>(&lock.word);
    uint32_t spins = spins_allowed(me);
    for (uint64_t sleepers = 0;;) {
        uint64_t word = HRT_LOAD(&lock.word, HRT_RELAXED);
        if (word == 0) {
            // Who has slept does not know whether others still do.
            if (HRT_CAS(&lock.word, &word, mine | ONCE | sleepers, HRT_ACQUIRE)) {
                return;
            }
            continue;
        }
        if (spins > 0 && (word & AWAITED) == 0) {
            spins--;
            HRT_PAUSE();
            continue;
        }
        if ((word & AWAITED) == 0 && !HRT_CAS(&lock.word, &word, word | AWAITED, HRT_RELAXED)) {
            continue;
        }
        hrt_wait(lower, static_cast<uint32_t>(word | AWAITED), HRT_FOREVER, HRT_WAIT_NO_INTR);
        sleepers = AWAITED;
    }
}

// Also for `test`, as LLVM's run-time has it.
constexpr ompt::MutexKind KIND = ompt::MutexKind::NestLock;

void init(NestLock *lock, uint32_t hint) {
    HRT_STORE(&lock->word, uint64_t{0}, HRT_RELAXED);
    if (ompt::is_on()) {
        ompt::lock_init(KIND, lock, hint);
    }
}

[[gnu::noinline]] void set_with_tool(NestLock *lock) {
    const Member &me = self();
    uint64_t mine = owner_of(me.task);
    ompt::Acquire acquire(KIND, lock);
    int times = try_nest(*lock, mine);
    if (times == 0) {
        wait_and_set(*lock, me, mine);
    }
    acquire.end(true, times > 1);
}

[[gnu::noinline]] int test_with_tool(NestLock *lock) {
    ompt::Acquire acquire(KIND, lock);
    int times = try_nest(*lock, owner_of(self().task));
    acquire.end(times != 0, times > 1);
    return times;
}

} // namespace

OMP_EXPORT void omp_init_nest_lock(NestLock *lock) {
    OMPT_ENTRY();
    init(lock, 0);
}
OMP_EXPORT void omp_init_nest_lock_with_hint(NestLock *lock, uint32_t hint) {
    OMPT_ENTRY();
    init(lock, hint);
}
OMP_EXPORT void omp_destroy_nest_lock(NestLock *lock) {
    HRT_STORE(&lock->word, uint64_t{0}, HRT_RELAXED);
    if (ompt::is_on()) {
        return ompt::with_caller([=] { ompt::lock_destroy(KIND, lock); });
    }
}

OMP_EXPORT void omp_set_nest_lock(NestLock *lock) {
    if (ompt::is_on()) {
        return ompt::with_caller([=] { set_with_tool(lock); });
    }
    const Member &me = self();
    uint64_t mine = owner_of(me.task);
    if (HRT_UNLIKELY(try_nest(*lock, mine) == 0)) {
        wait_and_set(*lock, me, mine);
    }
}

OMP_EXPORT int omp_test_nest_lock(NestLock *lock) {
    if (ompt::is_on()) {
        return ompt::with_caller([=] { return test_with_tool(lock); });
    }
    return try_nest(*lock, owner_of(self().task));
}

OMP_EXPORT void omp_unset_nest_lock(NestLock *lock) {
    uint64_t mine = owner_of(self().task);
    uint64_t word = HRT_LOAD(&lock->word, HRT_RELAXED), next;
    do {
        // A lock of another task, or of none: the call has no meaning, and nothing is done.
        if (word == 0 || (word & OWNER_MASK) != mine) {
            return;
        }
        next = (word & TIMES_MASK) == ONCE ? 0 : word - ONCE;
    } while (!HRT_CAS(&lock->word, &word, next, HRT_RELEASE));
    if (next == 0 && (word & AWAITED) != 0) {
        hrt_wake(reinterpret_cast<const uint32_t *>(&lock->word), 1, HRT_WAKE_KICK);
    }
    if (ompt::is_on()) {
        return ompt::with_caller([=] { ompt::nest_lock_released(lock, next == 0); });
    }
}

OMP_FORTRAN(void, omp_init_nest_lock, (NestLock *));
OMP_EXPORT void omp_init_nest_lock_with_hint_(NestLock *lock, const uint32_t *hint) {
    OMPT_ENTRY();
    init(lock, *hint);
}
OMP_FORTRAN(void, omp_destroy_nest_lock, (NestLock *));
OMP_FORTRAN(void, omp_set_nest_lock, (NestLock *));
OMP_FORTRAN(void, omp_unset_nest_lock, (NestLock *));
OMP_FORTRAN(int, omp_test_nest_lock, (NestLock *));
