// SPDX-License-Identifier: Apache-2.0 OR MIT
// Tasks of programs compiled by clang. A task's memory: what the compiler knows as kmp_task_t with private
// variables behind it, what the run-time has to know about that, and the block of shared variables.
#ifndef HADAL_OMP_KMPC_TASK_H
#define HADAL_OMP_KMPC_TASK_H

#include "core/cancel.h"
#include "core/depend.h"
#include "core/task_inline.h"
#include "core/team.h"
#include "ident.h"

namespace hadal::omp::kmpc {

// Lies in front of the shared variables, which a task has the address of.
struct alignas(16) TaskLink {
    Task *task;
    uint32_t task_bytes, shareds_bytes;
    uint32_t flags; // KmpTaskFlags
    // An untied task runs in parts: it has called __kmpc_omp_task for itself, to go on with the next one.
    bool has_next_part;
};

inline TaskLink &link_of(const KmpTask &task) { return static_cast<TaskLink *>(task.shareds)[-1]; }

// Calls a task's code, or its next part.
inline void call_entry(Member &me, Task &task, KmpTask &kmp) {
    Gtid gtid = static_cast<Gtid>(me.thread->gtid);
    if (ompt::is_on()) {
        ompt::call_task_framed(task, reinterpret_cast<int (*)(int, void *)>(kmp.entry), gtid, &kmp);
        return;
    }
    kmp.entry(gtid, &kmp);
}

// Makes a task that is neither counted nor queued yet.
KmpTask &make_task(Member &me, uint32_t flags, size_t task_bytes, size_t shareds_bytes, TaskEntry entry);

// What the compiler has filled in since the task was made.
inline void read_priority(Task &task, const KmpTask &kmp) {
    if (HRT_UNLIKELY((link_of(kmp).flags & KMP_PRIORITY) != 0)) {
        task.priority = priority_of(kmp.second.priority);
    }
}

inline TaskOptions options_of(const Task &task) {
    TaskOptions options;
    options.is_final = task.is_final;
    options.is_untied = task.is_untied;
    options.is_detachable = task.is_detachable;
    options.priority = task.priority;
    return options;
}

// Runs the parts that are left of a task whose code has been called once, and its destructors.
inline void run_rest(Member &me, KmpTask &kmp) {
    TaskLink &link = link_of(kmp);
    Gtid gtid = static_cast<Gtid>(me.thread->gtid);
    // Between two parts another thread could go on; this one has the task's data in its caches.
    while (HRT_UNLIKELY(link.has_next_part)) {
        link.has_next_part = false;
        call_entry(me, *link.task, kmp);
    }
    if (HRT_UNLIKELY((link.flags & KMP_DESTRUCTORS) != 0)) {
        kmp.first.destructors(gtid, &kmp);
    }
}

// Queues a task, or runs it now.
void submit(Member &me, KmpTask &kmp);

// Ends a task without running its code.
void drop(Member &me, KmpTask &kmp);
// The same if the taskgroup or the region around it is cancelled.
inline bool drop_cancelled(Member &me, KmpTask &kmp) {
    if (HRT_LIKELY(!settings.cancellation) || !cancellation_point(me, Cancelled::Taskgroup)) {
        return false;
    }
    drop(me, kmp);
    return true;
}

} // namespace hadal::omp::kmpc

#endif
