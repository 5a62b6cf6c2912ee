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

// Of `run_in_place`, if the member keeps no task.
[[gnu::noinline]] void run_in_new(Member &me, Function function, void *data, unsigned flags) {
    TaskOptions options;
    options.is_final = (flags & TASK_FINAL) != 0;
    options.is_untied = (flags & TASK_UNTIED) != 0;
    Task &task = task_init(me, *task_memory_take(*me.thread, 0), options);
    task_enter_included(me, task);
    function(data);
    if (!task_keep_in_place(me, task)) {
        task_leave_plain(me, task);
    }
}

// Not inlined: what comes before needs no registers for it.
[[gnu::noinline]] void leave_in_place(Member &me, Task &task) { task_leave_plain(me, task); }

// Runs a task before its generator goes on. Its data needs no copy then: nobody changes the block meanwhile.
// There is no tool.
OMP_LONG_PART OMP_TASK_PATH(5) void run_in_place(Member &me, Function function, void *data, unsigned flags) {
    Task *task = task_take_in_place(me, (flags & TASK_FINAL) != 0, (flags & TASK_UNTIED) != 0);
    if (HRT_UNLIKELY(task == nullptr)) {
        return run_in_new(me, function, data, flags);
    }
    function(data);
    if (HRT_UNLIKELY(!task_keep_in_place(me, *task))) {
        leave_in_place(me, *task);
    }
}

// The same where the copy is more than one of bytes, or the task has dependences or an event.
[[gnu::noinline]] void run_at_once(Member &me, Function function, const TaskData &data,
                                   const TaskOptions &options, bool has_dependences, void *event) {
    bool needs_copy = data.copy != nullptr;
    Task &task = task_new(me, needs_copy ? data.payload_bytes() : 0, options);
    if (options.is_detachable) {
        name_event(task, data.data, event);
    }
    void *own = needs_copy ? data.copy_to(payload_of(task)) : data.data;
    if (has_dependences) {
        // Later tasks do not know of it, so they must not begin before it has ended.
        task_begin_included(me, task);
    } else {
        task_begin_undeferred(me, task);
    }
    function(own);
    task_end_included(me, task);
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

// A task with dependences or an event.
void generate(Member &me, Function function, const TaskData &data, const TaskOptions &options, void **depend,
              void *event) {
    Depend dependences(depend);
    if (runs_at_once(me, options) && !may_stay_blocked(me, options, dependences)) {
        dependences.wait(me);
        run_at_once(me, function, data, options, dependences.count() > 0, event);
        return;
    }
    Task &task = make_task(me, function, data, options);
    if (options.is_detachable) {
        name_event(task, task.data, event);
    }
    if (dependences.count() > 0) {
        task_submit_dependent(me, task, dependences.list(), dependences.count());
    } else {
        task_submit(me, task);
    }
}

// The same for all tasks, with a tool.
[[gnu::noinline]] void generate_with_tool(Member &me, Function function, const TaskData &data,
                                          const TaskOptions &options, void **depend, void *event) {
    Depend dependences(depend);
    bool at_once = !options.deferred || me.task->is_final || (me.size == 1 && !options.is_detachable) ||
                   (depend == nullptr && !options.is_detachable && are_tasks_many(me));
    at_once = at_once && !may_stay_blocked(me, options, dependences);
    if (at_once) {
        dependences.wait(me);
    }
    Task &task = make_task(me, function, data, options);
    if (options.is_detachable) {
        name_event(task, task.data, event);
    }
    ompt::task_create(me, task, ompt::TASK_EXPLICIT | (at_once ? ompt::TASK_UNDEFERRED : 0),
                      dependences.count() > 0);
    if (at_once && dependences.count() == 0) {
        task_begin_undeferred(me, task);
        run_task(me, task);
        task_end_included(me, task);
    } else if (at_once) {
        task_run_included(me, task);
    } else if (dependences.count() > 0) {
        task_submit_dependent(me, task, dependences.list(), dependences.count());
    } else {
        task_submit(me, task);
    }
}

// A task without dependences, event and priority, which is to be queued.
[[gnu::noinline]] OMP_TASK_PATH(4) void queue_plain(Member &me, Function function, void *data, size_t bytes,
                                                    size_t align, unsigned flags) {
    TaskOptions options = options_of(flags, true, 0);
    task_submit(me, make_task(me, function, {data, nullptr, bytes, align}, options));
}

// Tasks that GOMP_task does not make itself.
void task_of_any_kind(Function function, const TaskData &data, bool deferred, unsigned flags, void **depend,
                      int priority, void *event) {
    Member &me = self();
    if (generates_none(me)) {
        return;
    }
    TaskOptions options = options_of(flags, deferred, priority);
    void **dependences = (flags & TASK_DEPEND) != 0 ? depend : nullptr;
    if (ompt::is_on()) {
        generate_with_tool(me, function, data, options, dependences, event);
    } else if (dependences != nullptr || options.is_detachable) {
        generate(me, function, data, options, dependences, event);
    } else if (runs_at_once(me, options) || are_tasks_many(me)) {
        run_at_once(me, function, data, options, false, nullptr);
    } else {
        task_submit(me, make_task(me, function, data, options));
    }
}

// With the arguments of GOMP_task, which jumps here: the return address is the program's.
[[gnu::noinline]] void task_special(Function function, void *data, CopyFunction copy, long bytes, long align,
                                    bool deferred, unsigned flags, void **depend, int priority, void *event) {
    OMPT_ENTRY();
    TaskData all = {data, copy, static_cast<size_t>(bytes), static_cast<size_t>(align)};
    task_of_any_kind(function, all, deferred, flags, depend, priority, event);
}

} // namespace

// Volatile arguments stay where the caller has left them, on the stack, until the rare case needs them. Else
// the compiler loads them first of all, into registers that have to be saved for that: nine instructions.
// C++20 deprecates the word here, but a compiler that ignores it only loses those.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvolatile"
OMP_INLINED OMP_TASK_PATH(6) void GOMP_task(Function function, void *data, CopyFunction copy, long bytes,
                                            long align, bool deferred, unsigned flags, void **volatile depend,
                                            volatile int priority, void *volatile event) {
    constexpr unsigned SPECIAL = TASK_DEPEND | TASK_DETACH | TASK_PRIORITY;
    Member *me = current;
    if (HRT_UNLIKELY(me == nullptr || settings.cancellation || ompt::is_on() || copy != nullptr ||
                     (flags & SPECIAL) != 0)) {
        return task_special(function, data, copy, bytes, align, deferred, flags, depend, priority, event);
    }
    if (!deferred || me->size == 1 || are_tasks_many(*me) || me->task->is_final) {
        return run_in_place(*me, function, data, flags);
    }
    queue_plain(*me, function, data, static_cast<size_t>(bytes), static_cast<size_t>(align), flags);
}
#pragma GCC diagnostic pop

OMP_INLINED void GOMP_taskwait() {
    if (ompt::is_on()) {
        return ompt::with_caller([] {
            ompt::Sync sync(self(), ompt::SyncKind::Taskwait);
            taskwait(self());
        });
    }
    taskwait(self());
}
OMP_EXPORT void GOMP_taskyield() {
    OMPT_ENTRY();
    taskyield(self());
}
OMP_EXPORT void GOMP_taskwait_depend(void **depend) {
    OMPT_ENTRY();
    taskwait_with(depend);
}

// `taskwait depend(...) nowait` of newer compilers: an empty task that later ones can depend on.
OMP_EXPORT void GOMP_taskwait_depend_nowait(void **depend) {
    OMPT_ENTRY();
    task_of_any_kind([](void *) {}, {nullptr, nullptr, 0, 1}, true, TASK_DEPEND, depend, 0, nullptr);
}
