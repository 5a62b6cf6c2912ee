// SPDX-License-Identifier: Apache-2.0 OR MIT
// Taskgroups that may have reductions.
#ifndef HADAL_OMP_KMPC_TASK_REDUCTION_H
#define HADAL_OMP_KMPC_TASK_REDUCTION_H

namespace hadal::omp {
struct Member;
}

namespace hadal::omp::kmpc {

// Waits for the tasks of the innermost taskgroup and puts its reductions together.
void end_taskgroup(Member &me);

} // namespace hadal::omp::kmpc

#endif
