// SPDX-License-Identifier: Apache-2.0 OR MIT
// `critical`: all unnamed ones have one lock; one with a name has a lock in the eight bytes, zero at first,
// that all object files with this name share.
#include "core/lock.h"
#include "gomp.h"

using namespace hadal::omp;

namespace {

struct alignas(64) {
    Lock lock;
} unnamed;

Lock &lock_of(void **name) {
    static_assert(sizeof(Lock) <= sizeof(*name));
    return *reinterpret_cast<Lock *>(name);
}

[[gnu::noinline]] void lock_with_tool(Lock &which, ompt::MutexKind kind) {
    ompt::Acquire acquire(kind, &which);
    lock(which);
    acquire.end();
}

[[gnu::noinline]] void unlock_with_tool(Lock &which, ompt::MutexKind kind) {
    unlock(which);
    ompt::mutex_released(kind, &which);
}

} // namespace

#define CRITICAL(name, parameter, which, kind)                                                               \
    OMP_INLINED void GOMP_##name##_start(parameter) {                                                        \
        if (ompt::is_on()) {                                                                                 \
            return ompt::with_caller([=] { lock_with_tool(which, ompt::MutexKind::kind); });                 \
        }                                                                                                    \
        lock(which);                                                                                         \
    }                                                                                                        \
    OMP_INLINED void GOMP_##name##_end(parameter) {                                                          \
        if (ompt::is_on()) {                                                                                 \
            return ompt::with_caller([=] { unlock_with_tool(which, ompt::MutexKind::kind); });               \
        }                                                                                                    \
        unlock(which);                                                                                       \
    }

CRITICAL(critical, , unnamed.lock, Critical)
CRITICAL(critical_name, void **name, lock_of(name), Critical)
