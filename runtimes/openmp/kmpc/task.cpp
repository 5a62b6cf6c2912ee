// SPDX-License-Identifier: Apache-2.0 OR MIT
// Explicit tasks: making, queueing and running them. The dependences are in depend.cpp.
#include "task.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

namespace {

size_t round_up(size_t bytes, size_t align) { return (bytes + align - 1) / align * align; }

inline bool run_task(Member &me, Task &task) {
    KmpTask &kmp = *static_cast<KmpTask *>(task.data);
    // Compilers need not give code for `taskwait depend nowait`, a task that does nothing.
    if (HRT_LIKELY(kmp.entry != nullptr)) {
        call_entry(me, task, kmp);
    }
    run_rest(me, kmp);
    return true;
}

[[gnu::always_inline]] inline KmpTask &make(Member &me, uint32_t flags, size_t task_bytes,
                                            size_t shareds_bytes, TaskEntry entry) {
    if (task_bytes > UINT32_MAX || shareds_bytes > UINT32_MAX) {
        fatal("a task has %zu bytes of private variables", task_bytes);
    }
    TaskOptions options;
    options.is_final = (flags & KMP_FINAL) != 0;
    options.is_untied = (flags & KMP_TIED) == 0;
    options.is_detachable = (flags & KMP_DETACHABLE) != 0;
    size_t link_offset = round_up(task_bytes, alignof(TaskLink));
    Task &task = task_new(me, link_offset + sizeof(TaskLink) + shareds_bytes, options);
    char *payload = static_cast<char *>(payload_of(task));
    TaskLink *link = reinterpret_cast<TaskLink *>(payload + link_offset);
    link->task = &task;
    link->task_bytes = static_cast<uint32_t>(task_bytes);
    link->shareds_bytes = static_cast<uint32_t>(shareds_bytes);
    link->flags = flags;
    link->has_next_part = false;
    KmpTask &kmp = *reinterpret_cast<KmpTask *>(payload);
    kmp.shareds = link + 1;
    kmp.entry = entry;
    kmp.part = 0;
    task.run = run_task;
    task.data = &kmp;
    if (HRT_UNLIKELY((flags & KMP_DESTRUCTORS) != 0)) {
        task.has_objects = true;
    }
    return kmp;
}

} // namespace

namespace hadal::omp::kmpc {

KmpTask &make_task(Member &me, uint32_t flags, size_t task_bytes, size_t shareds_bytes, TaskEntry entry) {
    return make(me, flags, task_bytes, shareds_bytes, entry);
}

void submit(Member &me, KmpTask &kmp) {
    Task &task = *link_of(kmp).task;
    read_priority(task, kmp);
    if (drop_cancelled(me, kmp)) {
        return;
    }
    bool at_once = runs_at_once(me, options_of(task)) || (!task.is_detachable && are_tasks_many(me));
    if (ompt::is_on()) {
        ompt::task_create(me, task, ompt::TASK_EXPLICIT | (at_once ? ompt::TASK_UNDEFERRED : 0), false);
    }
    if (at_once) {
        task_begin_undeferred(me, task);
        run_task(me, task);
        task_end_included(me, task);
    } else {
        task_submit(me, task);
    }
}

void drop(Member &me, KmpTask &kmp) {
    TaskLink &link = link_of(kmp);
    task_begin_included(me, *link.task);
    run_rest(me, kmp);
    task_end_included(me, *link.task);
}

} // namespace hadal::omp::kmpc

OMP_EXPORT KmpTask *__kmpc_omp_task_alloc(const Ident *, Gtid, uint32_t flags, size_t task_bytes,
                                          size_t shareds_bytes, TaskEntry entry) {
    return &make(self(), flags, task_bytes, shareds_bytes, entry);
}

// `target nowait`, whose code runs on the host.
OMP_EXPORT KmpTask *__kmpc_omp_target_task_alloc(const Ident *, Gtid, uint32_t flags, size_t task_bytes,
                                                 size_t shareds_bytes, TaskEntry entry, int64_t) {
    return &make_task(self(), flags, task_bytes, shareds_bytes, entry);
}

OMP_EXPORT OMP_TASK_PATH(7) int32_t __kmpc_omp_task(const Ident *, Gtid, KmpTask *kmp) {
    OMPT_ENTRY();
    Member &me = self();
    TaskLink &link = link_of(*kmp);
    if (HRT_UNLIKELY(me.task == link.task)) {
        link.has_next_part = true;
    } else {
        submit(me, *kmp);
    }
    return 0;
}

OMP_EXPORT int32_t __kmpc_omp_task_parts(const Ident *loc, Gtid gtid, KmpTask *kmp) {
    return __kmpc_omp_task(loc, gtid, kmp);
}

// The caller runs the code by itself between the two (`if` is false).
OMP_EXPORT void __kmpc_omp_task_begin_if0(const Ident *, Gtid, KmpTask *kmp) {
    Member &me = self();
    Task &task = *link_of(*kmp).task;
    if (ompt::is_on()) {
        OMPT_NOTE_CALLER();
        ompt::task_create(me, task, ompt::TASK_EXPLICIT | ompt::TASK_UNDEFERRED, false);
        // The caller's frame pointer is the first thing in this frame.
        ompt::task_called_by(task, *static_cast<void **>(__builtin_frame_address(0)));
    }
    task_begin_undeferred(me, task);
}

OMP_EXPORT void __kmpc_omp_task_complete_if0(const Ident *, Gtid, KmpTask *kmp) {
    Member &me = self();
    run_rest(me, *kmp);
    task_end_included(me, *link_of(*kmp).task);
}

OMP_EXPORT int32_t __kmpc_omp_taskwait(const Ident *, Gtid) {
    if (ompt::is_on()) {
        return ompt::with_caller([] {
            ompt::Sync sync(self(), ompt::SyncKind::Taskwait);
            taskwait(self());
            return 0;
        });
    }
    taskwait(self());
    return 0;
}

OMP_EXPORT int32_t __kmpc_omp_taskyield(const Ident *, Gtid, int32_t) {
    OMPT_ENTRY();
    taskyield(self());
    return 0;
}

// What omp_fulfill_event is called with, later: the task.
OMP_EXPORT void *__kmpc_task_allow_completion_event(const Ident *, Gtid, KmpTask *kmp) {
    return link_of(*kmp).task;
}

// Where a task's data is: a hint, which the run-time does not use.
OMP_EXPORT int32_t __kmpc_omp_reg_task_with_affinity(const Ident *, Gtid, KmpTask *, int32_t, const void *) {
    return 0;
}
