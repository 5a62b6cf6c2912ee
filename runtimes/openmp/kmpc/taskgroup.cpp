// SPDX-License-Identifier: Apache-2.0 OR MIT
// `taskgroup`, which the compiler also puts around taskloops.
#include "core/taskgroup.h"

#include "core/team.h"
#include "ident.h"
#include "task_reduction.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

OMP_EXPORT void __kmpc_taskgroup(const Ident *, Gtid) {
    OMPT_ENTRY();
    taskgroup_push(self());
}

OMP_EXPORT void __kmpc_end_taskgroup(const Ident *, Gtid) {
    OMPT_ENTRY();
    end_taskgroup(self());
}
