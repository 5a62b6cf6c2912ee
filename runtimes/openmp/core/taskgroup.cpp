// SPDX-License-Identifier: Apache-2.0 OR MIT
// Taskgroups.
#include "taskgroup.h"

#include <cstdlib>
#include <new>

#include "ompt/ompt.h"
#include "sync.h"

namespace hadal::omp {

void taskgroup_begin(Member &me, Taskgroup &group) {
    group.outer = me.task->group;
    group.waiter = &me;
    // Tasks take part in the reductions of enclosing groups, too.
    group.reductions = group.outer != nullptr ? group.outer->reductions : nullptr;
    me.task->group = &group;
    if (ompt::is_on()) {
        ompt::taskgroup_begin(me);
    }
}

void taskgroup_end(Member &me, Taskgroup &group) {
    bool has_tool = ompt::is_on();
    if (HRT_UNLIKELY(has_tool)) {
        ompt::taskgroup_wait(me, true);
    }
    if (HRT_LOAD(&group.unfinished, HRT_ACQUIRE) != 0) {
        await_with_tasks(me, [&] { return HRT_LOAD(&group.unfinished, HRT_ACQUIRE) == 0; });
    }
    me.task->group = group.outer;
    if (HRT_UNLIKELY(has_tool)) {
        ompt::taskgroup_wait(me, false);
    }
}

void taskgroup_push(Member &me) {
    void *memory = malloc(sizeof(Taskgroup));
    if (memory == nullptr) {
        fatal("there is no memory for a taskgroup");
    }
    taskgroup_begin(me, *::new (memory) Taskgroup);
}

void taskgroup_pop(Member &me) {
    Taskgroup *group = me.task->group;
    if (group == nullptr) {
        fatal("a taskgroup ends that has not begun");
    }
    taskgroup_end(me, *group);
    free(group);
}

} // namespace hadal::omp
