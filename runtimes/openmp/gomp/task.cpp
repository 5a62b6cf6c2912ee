// SPDX-License-Identifier: Apache-2.0 OR MIT
// `task`, `taskwait` and `taskyield`.
#include "task.h"

#include "depend.h"

using namespace hadal::omp;
using namespace hadal::omp::gomp;

namespace {

// The program learns the event's name by a variable, the task by the first word of its data.
void name_event(Task &task, void *data, void *event) {
    *static_cast<Task **>(event) = &task;
    *static_cast<Task **>(data) = &task;
}

// Runs the task before its generator goes on. Bytes need no copy then: nobody changes the block meanwhile.
void run_at_once(Member &me, Function function, const TaskData &data, const TaskOptions &options,
                 void *event) {
    bool needs_copy = data.copy != nullptr;
    Task &task = task_new(me, needs_copy ? data.payload_bytes() : 0, options);
    task.run = run_task;
    task.code = code_of(function);
    if (options.is_detachable) {
        name_event(task, data.data, event);
    }
    task.data = needs_copy ? data.copy_to(payload_of(task)) : data.data;
    task_run_included(me, task);
}

// In a team of one, tasks need not be queued. But one that follows a detached task must not keep its
// generator from going on, who may be about to fulfill the event.
bool may_stay_blocked(const Member &me, const TaskOptions &options, const Depend &dependences) {
    return dependences.count() > 0 && me.task->dependences != nullptr && options.deferred &&
           !me.task->is_final;
}

void taskwait_with(void *const *array) {
    Member &me = self();
    Depend(array).wait(me);
}

} // namespace

OMP_EXPORT void GOMP_task(Function function, void *data, CopyFunction copy, long bytes, long align,
                          bool deferred, unsigned flags, void **depend, int priority, void *event) {
    Member &me = self();
    if (generates_none(me)) {
        return;
    }
    const TaskData block = {data, copy, static_cast<size_t>(bytes), static_cast<size_t>(align)};
    const TaskOptions options = options_of(flags, deferred, priority);
    bool at_once = runs_at_once(me, options);
    if (HRT_LIKELY((flags & (TASK_DEPEND | TASK_DETACH)) == 0) && !at_once) {
        if (are_tasks_many(me)) {
            run_at_once(me, function, block, options, nullptr);
        } else {
            task_submit(me, make_task(me, function, block, options));
        }
        return;
    }
    Depend dependences((flags & TASK_DEPEND) != 0 ? depend : nullptr);
    if (at_once && may_stay_blocked(me, options, dependences)) {
        at_once = false;
    }
    if (at_once) {
        dependences.wait(me);
        run_at_once(me, function, block, options, event);
        return;
    }
    Task &task = task_new(me, block.payload_bytes(), options);
    task.run = run_task;
    task.code = code_of(function);
    if (options.is_detachable) {
        name_event(task, data, event);
    }
    task.data = block.copy_to(payload_of(task));
    if (dependences.count() > 0) {
        task_submit_dependent(me, task, dependences.list(), dependences.count());
    } else {
        task_submit(me, task);
    }
}

OMP_EXPORT void GOMP_taskwait() { taskwait(self()); }
OMP_EXPORT void GOMP_taskyield() { taskyield(self()); }
OMP_EXPORT void GOMP_taskwait_depend(void **depend) { taskwait_with(depend); }

// `taskwait depend(...) nowait` of newer compilers: an empty task that later ones can depend on.
OMP_EXPORT void GOMP_taskwait_depend_nowait(void **depend) {
    Function nothing = [](void *) {};
    GOMP_task(nothing, nullptr, nullptr, 0, 1, true, TASK_DEPEND, depend, 0, nullptr);
}
