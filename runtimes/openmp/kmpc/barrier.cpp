// SPDX-License-Identifier: Apache-2.0 OR MIT
// Barriers, explicit ones and those at the end of constructs, and `scope`, which is nothing else.
#include "core/cancel.h"
#include "ident.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

OMP_EXPORT void __kmpc_barrier(const Ident *, Gtid) { barrier(self()); }

// True if the parallel region is cancelled: the caller leaves it.
OMP_EXPORT int32_t __kmpc_cancel_barrier(const Ident *, Gtid) { return barrier_cancellable(self()); }

// The barrier of a scope construct is a call of its own.
OMP_EXPORT void __kmpc_scope(const Ident *, Gtid, void *) {}

OMP_EXPORT void __kmpc_end_scope(const Ident *, Gtid, void *) {}
