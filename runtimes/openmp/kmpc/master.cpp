// SPDX-License-Identifier: Apache-2.0 OR MIT
// `master` and `masked`.
#include "core/team.h"
#include "ident.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

OMP_EXPORT int32_t __kmpc_master(const Ident *, Gtid) { return self().number == 0; }

OMP_EXPORT void __kmpc_end_master(const Ident *, Gtid) {}

OMP_EXPORT int32_t __kmpc_masked(const Ident *, Gtid, int32_t filter) {
    return self().number == static_cast<uint32_t>(filter);
}

OMP_EXPORT void __kmpc_end_masked(const Ident *, Gtid) {}
