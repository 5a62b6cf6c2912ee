// SPDX-License-Identifier: Apache-2.0 OR MIT
// `critical`: all unnamed ones have one lock; one with a name has a lock in the eight bytes, zero at first,
// that all object files with this name share.
#include "core/lock.h"
#include "gomp.h"

using namespace hadal::omp;

namespace {

// The first to take it asks whether there is a tool. If there is, so does everybody after it; if not, nobody.
struct alignas(64) {
    Lock lock = {.turn = LOCK_TOLD};
} unnamed;

Lock &lock_of(void **name) {
    static_assert(sizeof(Lock) <= sizeof(*name));
    return *reinterpret_cast<Lock *>(name);
}

[[gnu::noinline]] void lock_with_tool(Lock &which) {
    ompt::Acquire acquire(ompt::MutexKind::Critical, &which);
    lock_slow(which);
    acquire.end();
}

[[gnu::noinline]] void unlock_with_tool(Lock &which) {
    unlock(which, LOCK_TOLD);
    ompt::mutex_released(ompt::MutexKind::Critical, &which);
}

void leave(Lock &which) {
    if (ompt::is_on()) {
        return ompt::with_caller([&which] { unlock_with_tool(which); });
    }
    unlock(which);
}

} // namespace

OMP_INLINED void GOMP_critical_start() {
    if (lock_at_once(unnamed.lock)) {
        return;
    }
    if (ompt::is_on()) {
        return ompt::with_caller([] { lock_with_tool(unnamed.lock); });
    }
    lock_slow(unnamed.lock);
}
OMP_INLINED void GOMP_critical_end() { leave(unnamed.lock); }

OMP_INLINED void GOMP_critical_name_start(void **name) {
    if (ompt::is_on()) {
        return ompt::with_caller([=] { lock_with_tool(lock_of(name)); });
    }
    lock(lock_of(name));
}
OMP_INLINED void GOMP_critical_name_end(void **name) { leave(lock_of(name)); }
