// SPDX-License-Identifier: Apache-2.0 OR MIT
// Critical regions. Their lock is in the memory that the compiler has for the name.
#include "ident.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

namespace {

[[gnu::noinline]] void lock_with_tool(CriticalName *name, uint32_t hint) {
    ompt::Acquire acquire(ompt::MutexKind::Critical, name, hint);
    lock(name->lock);
    acquire.end();
}

[[gnu::noinline]] void unlock_with_tool(CriticalName *name) {
    unlock(name->lock);
    ompt::mutex_released(ompt::MutexKind::Critical, name);
}

} // namespace

OMP_EXPORT void __kmpc_critical(const Ident *, Gtid, CriticalName *name) {
    if (ompt::is_on()) {
        return ompt::with_caller([=] { lock_with_tool(name, 0); });
    }
    lock(name->lock);
}

// A hint about contention; the lock does well either way.
OMP_EXPORT void __kmpc_critical_with_hint(const Ident *, Gtid, CriticalName *name, uint32_t hint) {
    if (ompt::is_on()) {
        return ompt::with_caller([=] { lock_with_tool(name, hint); });
    }
    lock(name->lock);
}

OMP_EXPORT void __kmpc_end_critical(const Ident *, Gtid, CriticalName *name) {
    if (ompt::is_on()) {
        return ompt::with_caller([=] { unlock_with_tool(name); });
    }
    unlock(name->lock);
}
