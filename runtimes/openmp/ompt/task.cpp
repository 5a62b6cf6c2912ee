// SPDX-License-Identifier: Apache-2.0 OR MIT
// Explicit tasks: when they are generated, run, and end.
#include <new>

#include "core/memory.h"
#include "core/taskgroup.h"
#include "events.h"

namespace hadal::omp::ompt {

thread_local constinit WaitingTask *waiting = nullptr;

namespace {

void say_schedule(TaskTool &prior, TaskStatus status, TaskTool *next) {
    say<void(Data *, int, Data *)>(Event::TaskSchedule, &prior.data, static_cast<int>(status),
                                   next != nullptr ? &next->data : nullptr);
}

} // namespace

Task *task_memory_take(Thread &thread, size_t payload_bytes) {
    Task *task = omp::task_memory_take(thread, payload_bytes + sizeof(TaskTool));
    ::new (tool_memory_of(*task)) TaskTool;
    return task;
}

void task_create(Member &me, Task &task, int kind, bool has_dependences) {
    TaskTool &tool = tool_of(task), &encountering = tool_of(*me.task);
    tool.kind = kind | (task.is_untied ? TASK_UNTIED : 0) | (task.is_final ? TASK_FINAL : 0);
    InRuntime in_runtime(*me.task);
    say<void(Data *, const Frame *, Data *, int, int, const void *)>(Event::TaskCreate, &encountering.data,
                                                                     &encountering.frame, &tool.data,
                                                                     tool.kind, has_dependences, caller.code);
}

void task_called_by(Task &task, void *frame) {
    Frame &task_frame = tool_of(task).frame;
    task_frame.exit.ptr = frame;
    task_frame.exit_flags = FRAME_APPLICATION | FRAME_POINTER;
}

void task_switch(Task &from, Task &to) {
    TaskTool &prior = tool_of(from), &next = tool_of(to);
    next.below = &from;
    if (next.kind == 0) {
        return; // the program has not generated it
    }
    if (to.is_included && prior.frame.enter.ptr == nullptr) {
        // Its generator stays in the run-time until it is over.
        prior.frame.enter.ptr = caller.frame;
        prior.frame.enter_flags = FRAME_APPLICATION | FRAME_CFA;
        next.has_entered_for = true;
    }
    say_schedule(prior, prior.is_yielding ? TaskStatus::Yield : TaskStatus::Switch, &next);
}

void task_leave(Task &task, Task &to) {
    TaskTool &tool = tool_of(task), &next = tool_of(to);
    if (tool.kind == 0) {
        return;
    }
    TaskStatus status = tool.is_cancelled ? TaskStatus::Cancel : TaskStatus::Complete;
    uint32_t phase = PHASE_RUNNING;
    if (task.is_detachable && HRT_CAS(&tool.phase, &phase, PHASE_DETACHED, HRT_ACQ_REL)) {
        status = TaskStatus::Detach;
    }
    tool.frame = {};
    if (tool.has_entered_for) {
        next.frame.enter.ptr = nullptr;
        next.frame.enter_flags = 0;
    }
    say_schedule(tool, status, &next);
}

void task_discard(Task &task, Task &current) {
    TaskTool &tool = tool_of(task);
    int what = task.group != nullptr && HRT_LOAD(&task.group->is_cancelled, HRT_RELAXED) != 0
                   ? CANCEL_TASKGROUP
                   : CANCEL_PARALLEL;
    say<void(Data *, int, const void *)>(Event::Cancel, &tool.data, what | CANCEL_DISCARDED_TASK, nullptr);
    tool.is_cancelled = true;
    say_schedule(tool, TaskStatus::Cancel, &tool_of(current));
}

void task_fulfilled(Task &task) {
    TaskTool &tool = tool_of(task);
    uint32_t phase = PHASE_RUNNING;
    bool is_early = HRT_CAS(&tool.phase, &phase, PHASE_FULFILLED, HRT_ACQ_REL);
    say_schedule(tool, is_early ? TaskStatus::EarlyFulfill : TaskStatus::LateFulfill, nullptr);
}

void task_yields(Task &task, bool is_yielding) { tool_of(task).is_yielding = is_yielding; }

// `taskwait` with dependences is a task that does nothing, for the tool.
WaitingTask::WaitingTask(Member &member) : me(member) {
    waiting = this;
    tool.kind = TASK_TASKWAIT | TASK_UNDEFERRED | TASK_MERGEABLE;
    TaskTool &encountering = tool_of(*me.task);
    encountering.frame.enter.ptr = caller.frame;
    encountering.frame.enter_flags = FRAME_APPLICATION | FRAME_CFA;
    say<void(Data *, const Frame *, Data *, int, int, const void *)>(
        Event::TaskCreate, &encountering.data, &encountering.frame, &tool.data, tool.kind, 1, caller.code);
}

WaitingTask::~WaitingTask() {
    waiting = nullptr;
    say_schedule(tool, TaskStatus::TaskwaitComplete, nullptr);
    TaskTool &encountering = tool_of(*me.task);
    encountering.frame.enter.ptr = nullptr;
    encountering.frame.enter_flags = 0;
}

} // namespace hadal::omp::ompt
