// SPDX-License-Identifier: Apache-2.0 OR MIT
// The parts of generating tasks that are worth being inlined: making one, and running one at once.
#ifndef HADAL_OMP_TASK_INLINE_H
#define HADAL_OMP_TASK_INLINE_H

#include "memory.h"
#include "ompt/ompt.h"

namespace hadal::omp {

// Fills in a task of the current one in its memory.
[[gnu::always_inline]] inline Task &task_init(Member &me, Task &task, const TaskOptions &options) {
    const Task &parent = *me.task;
    HRT_STORE(&task.parent, me.task, HRT_RELAXED);
    HRT_STORE(&task.depth, parent.depth + 1, HRT_RELAXED);
    task.team = me.team;
    task.group = parent.group;
    task.icvs = parent.icvs;
    if (HRT_UNLIKELY(parent.icvs == &parent.own_icvs)) {
        // The parent may change them while the task runs.
        task.own_icvs = parent.own_icvs;
        task.icvs = &task.own_icvs;
    }
    task.priority = options.priority;
    task.is_explicit = true;
    task.is_final = options.is_final || parent.is_final;
    task.is_untied = options.is_untied;
    task.is_detachable = options.is_detachable;
    task.open_ends = options.is_detachable ? 2 : 1;
    return task;
}

// Makes a task of the current one with `payload_bytes` of memory behind it, aligned to 64 bytes
// (`payload_of`), which is not counted or queued yet. Ends the program when there is no memory.
inline Task &task_new(Member &me, size_t payload_bytes, const TaskOptions &options) {
    Task &task = *(ompt::is_on() ? ompt::task_memory_take(*me.thread, payload_bytes)
                                 : task_memory_take(*me.thread, payload_bytes));
    return task_init(me, task, options);
}

// Whether a task that is generated now is to run at once, before its generator goes on.
inline bool runs_at_once(const Member &me, const TaskOptions &options) {
    return !options.deferred || me.task->is_final || (me.size == 1 && !options.is_detachable);
}

// Whether so many tasks of the member are queued that one more would only cost time: it may as well run at
// once.
inline bool are_tasks_many(const Member &me) { return HRT_UNLIKELY(me.deque.size() >= settings.many_tasks); }

void task_end_included_slow(Member &me, Task &task);

// Around the code of a task that was never queued, as part of the current one (`if` is false, or final),
// without telling a tool.
inline void task_enter_included(Member &me, Task &task) {
    task.is_included = true;
    task.runner = &me;
    me.task = &task;
}
// The end of one that nothing can depend on, and that has no event.
inline void task_leave_plain(Member &me, Task &task) {
    me.task = task.parent;
    if (HRT_LIKELY(HRT_LOAD(&task.counts, HRT_ACQUIRE) == ONE_REFERENCE && task.dependences == nullptr)) {
        task_memory_give(*me.thread, &task);
    } else {
        task_end_included_slow(me, task);
    }
}
inline void task_leave_included(Member &me, Task &task) {
    if (HRT_LIKELY(task.successors == nullptr) && !task.is_detachable) {
        task_leave_plain(me, task);
    } else {
        me.task = task.parent;
        task_end_included_slow(me, task);
    }
}

// Programs run many tasks in place in a row, so a member keeps the last one: taken again, it is what it was
// but for its parent. Null if there is none that can be.
[[gnu::always_inline]] inline Task *task_take_in_place(Member &me, bool is_final, bool is_untied) {
    const Task &parent = *me.task;
    Task *task = me.in_place;
    if (HRT_UNLIKELY(task == nullptr || parent.icvs == &parent.own_icvs)) {
        return nullptr;
    }
    me.in_place = nullptr;
    HRT_STORE(&task->parent, me.task, HRT_RELAXED);
    HRT_STORE(&task->depth, parent.depth + 1, HRT_RELAXED);
    task->team = me.team;
    task->group = parent.group;
    task->icvs = parent.icvs;
    task->is_final = is_final | parent.is_final; // one jump less than by ||
    task->is_untied = is_untied;
    me.task = task;
    return task;
}
// Keeps it when its code is over; false if it is still needed, or if another one that ran in it is kept.
[[gnu::always_inline]] inline bool task_keep_in_place(Member &me, Task &task) {
    if (HRT_UNLIKELY(HRT_LOAD(&task.counts, HRT_ACQUIRE) != ONE_REFERENCE || task.dependences != nullptr ||
                     me.in_place != nullptr)) {
        return false;
    }
    me.task = task.parent;
    me.in_place = &task;
    return true;
}

// The same, and tells it.
inline void task_begin_included(Member &me, Task &task) {
    task_enter_included(me, task);
    if (ompt::is_on()) {
        ompt::task_switch(*task.parent, task);
    }
}
inline void task_end_included(Member &me, Task &task) {
    if (ompt::is_on()) {
        ompt::task_leave(task, *task.parent);
    }
    task_leave_included(me, task);
}
// The beginning of one with an event, which may be fulfilled later: undeferred is only the code
// (OpenMP 5.2, 1.2.5).
inline void task_begin_undeferred(Member &me, Task &task) {
    if (HRT_UNLIKELY(task.is_detachable)) {
        task.outlives_code = true;
        task_count(me, task);
    }
    task_begin_included(me, task);
}
inline void task_run_included(Member &me, Task &task) {
    task_begin_included(me, task);
    task.run(me, task);
    task_end_included(me, task);
}

} // namespace hadal::omp

#endif
