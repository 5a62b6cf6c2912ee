// SPDX-License-Identifier: Apache-2.0 OR MIT
// `taskgroup`.
#include "core/taskgroup.h"
#include "gomp.h"

using namespace hadal::omp;

OMP_EXPORT void GOMP_taskgroup_start() {
    OMPT_ENTRY();
    taskgroup_push(self());
}
OMP_EXPORT void GOMP_taskgroup_end() {
    OMPT_ENTRY();
    taskgroup_pop(self());
}
