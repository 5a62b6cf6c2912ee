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

} // namespace

OMP_EXPORT void GOMP_critical_start() { lock(unnamed.lock); }
OMP_EXPORT void GOMP_critical_end() { unlock(unnamed.lock); }
OMP_EXPORT void GOMP_critical_name_start(void **name) { lock(lock_of(name)); }
OMP_EXPORT void GOMP_critical_name_end(void **name) { unlock(lock_of(name)); }
