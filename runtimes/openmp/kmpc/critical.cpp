// SPDX-License-Identifier: Apache-2.0 OR MIT
// Critical regions. Their lock is in the memory that the compiler has for the name.
#include "ident.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

OMP_EXPORT void __kmpc_critical(const Ident *, Gtid, CriticalName *name) { lock(name->lock); }

// A hint about contention; the lock does well either way.
OMP_EXPORT void __kmpc_critical_with_hint(const Ident *, Gtid, CriticalName *name, uint32_t) {
    lock(name->lock);
}

OMP_EXPORT void __kmpc_end_critical(const Ident *, Gtid, CriticalName *name) { unlock(name->lock); }
