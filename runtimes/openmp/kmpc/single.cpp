// SPDX-License-Identifier: Apache-2.0 OR MIT
// `single`: a barrier, if there is one, is a call of its own.
#include "core/team.h"
#include "ident.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

OMP_EXPORT int32_t __kmpc_single(const Ident *, Gtid) {
    if (ompt::is_on()) {
        return ompt::with_caller([=] { return ompt::single(self()); });
    }
    return single_enter(self());
}

OMP_EXPORT void __kmpc_end_single(const Ident *, Gtid) {
    if (ompt::is_on()) {
        return ompt::with_caller([=] { ompt::work_close(self()); });
    }
}
