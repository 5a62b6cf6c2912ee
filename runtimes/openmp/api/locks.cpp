// SPDX-License-Identifier: Apache-2.0 OR MIT
// Simple locks. An omp_lock_t has at least four bytes, which are a SimpleLock.
#include "ompt/ompt.h"
#include "routine.h"
#include "simple_lock.h"

using namespace hadal::omp;

namespace {

// Also for `test`, as LLVM's run-time has it.
constexpr ompt::MutexKind KIND = ompt::MutexKind::Lock;

void init(SimpleLock *lock, uint32_t hint) {
    HRT_STORE(&lock->word, ompt::is_on() ? SIMPLE_TOLD : SIMPLE_FREE, HRT_RELAXED);
    if (ompt::is_on()) {
        ompt::lock_init(KIND, lock, hint);
    }
}

[[gnu::noinline]] void set_with_tool(SimpleLock *lock) {
    ompt::Acquire acquire(KIND, lock);
    lock_slow(*lock);
    acquire.end();
}

[[gnu::noinline]] void unset_with_tool(SimpleLock *lock) {
    unlock_slow(*lock, SIMPLE_TOLD);
    ompt::mutex_released(KIND, lock);
}

[[gnu::noinline]] int test_with_tool(SimpleLock *lock) {
    ompt::Acquire acquire(KIND, lock);
    bool is_mine = try_lock(*lock);
    acquire.end(is_mine);
    return is_mine;
}

} // namespace

OMP_EXPORT void omp_init_lock(SimpleLock *lock) {
    OMPT_ENTRY();
    init(lock, 0);
}
// There is one kind of lock for all: it is as fast as can be without contention, and sleeps with it.
OMP_EXPORT void omp_init_lock_with_hint(SimpleLock *lock, uint32_t hint) {
    OMPT_ENTRY();
    init(lock, hint);
}
OMP_EXPORT void omp_destroy_lock(SimpleLock *lock) {
    HRT_STORE(&lock->word, SIMPLE_FREE, HRT_RELAXED);
    if (ompt::is_on()) {
        return ompt::with_caller([=] { ompt::lock_destroy(KIND, lock); });
    }
}
OMP_INLINED void omp_set_lock(SimpleLock *lock) {
    if (lock_at_once(*lock)) {
        return;
    }
    if (ompt::is_on()) {
        return ompt::with_caller([=] { set_with_tool(lock); });
    }
    lock_slow(*lock);
}
OMP_INLINED void omp_unset_lock(SimpleLock *lock) {
    if (ompt::is_on()) {
        return ompt::with_caller([=] { unset_with_tool(lock); });
    }
    unlock(*lock);
}
OMP_INLINED int omp_test_lock(SimpleLock *lock) {
    if (ompt::is_on()) {
        return ompt::with_caller([=] { return test_with_tool(lock); });
    }
    return try_lock(*lock);
}

OMP_FORTRAN(void, omp_init_lock, (SimpleLock *));
OMP_EXPORT void omp_init_lock_with_hint_(SimpleLock *lock, const uint32_t *hint) {
    OMPT_ENTRY();
    init(lock, *hint);
}
OMP_FORTRAN(void, omp_destroy_lock, (SimpleLock *));
OMP_FORTRAN(void, omp_set_lock, (SimpleLock *));
OMP_FORTRAN(void, omp_unset_lock, (SimpleLock *));
OMP_FORTRAN(int, omp_test_lock, (SimpleLock *));
