// SPDX-License-Identifier: Apache-2.0 OR MIT
// Taskgroups: what waits for tasks and all their descendants.
#ifndef HADAL_OMP_TASKGROUP_H
#define HADAL_OMP_TASKGROUP_H

#include <cstdint>

namespace hadal::omp {

struct Member;
struct ReductionScope;

struct Taskgroup {
    Taskgroup *outer = nullptr;
    uint64_t unfinished = 0; // tasks of the group that have not ended
    Member *waiter = nullptr;
    uint32_t is_cancelled = 0;
    bool is_of_reduction =
        false; // of reduction(task, ...) of a region or loop: `cancel taskgroup` is not about it
    ReductionScope *reductions = nullptr; // the innermost that tasks of the group may take part in
};

// The group lives until `taskgroup_end`, which waits.
void taskgroup_begin(Member &me, Taskgroup &group);
void taskgroup_end(Member &me, Taskgroup &group);
// For compilers whose calls have no place for the group.
void taskgroup_push(Member &me);
void taskgroup_pop(Member &me);

} // namespace hadal::omp

#endif
