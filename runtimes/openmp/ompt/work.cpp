// SPDX-License-Identifier: Apache-2.0 OR MIT
// Worksharing constructs, `masked`, reductions, and what has no region: `flush`, cancellation, errors.
#include <cstring>

#include "events.h"

namespace hadal::omp::ompt {

namespace {

void say_work(Member &me, WorkKind kind, Endpoint endpoint, uint64_t count) {
    say<void(int, int, Data *, Data *, uint64_t, const void *)>(Event::Work, static_cast<int>(kind),
                                                                static_cast<int>(endpoint), parallel_of(me),
                                                                &tool_of(*me.task).data, count, caller.code);
}

} // namespace

void work_begin(Member &me, WorkKind kind, uint64_t count) {
    work_close(me);
    TaskTool &task = tool_of(*me.task);
    task.is_working = true;
    task.work = kind;
    task.work_count = count;
    say_work(me, kind, Endpoint::Begin, count);
}

void work_close(Member &me) {
    TaskTool &task = tool_of(*me.task);
    if (task.is_working) {
        task.is_working = false;
        say_work(me, task.work, Endpoint::End, task.work_count);
    }
}

void work_single(Member &me, bool is_executor) {
    work_begin(me, is_executor ? WorkKind::SingleExecutor : WorkKind::SingleOther, 1);
    if (!is_executor) {
        work_close(me);
    }
}

bool single(Member &me) {
    bool is_executor = single_enter(me);
    work_single(me, is_executor);
    return is_executor;
}

void work_both(Member &me, WorkKind kind, bool is_begin, uint64_t count) {
    say_work(me, kind, is_begin ? Endpoint::Begin : Endpoint::End, count);
}

void masked(Member &me, bool is_begin) {
    say<void(int, Data *, Data *, const void *)>(Event::Masked,
                                                 static_cast<int>(is_begin ? Endpoint::Begin : Endpoint::End),
                                                 parallel_of(me), &tool_of(*me.task).data, caller.code);
}

void reduction(Member &me, bool is_begin) {
    me.thread->tool.state = is_begin ? State::WorkReduction : State::WorkParallel;
    say_sync(Event::Reduction, SyncKind::Reduction, is_begin ? Endpoint::Begin : Endpoint::End,
             parallel_of(me), &tool_of(*me.task).data, caller.code);
}

void flush(Member &me) { say<void(Data *, const void *)>(Event::Flush, &me.thread->tool.data, caller.code); }

void cancel_event(Member &me, int flags) {
    TaskTool &task = tool_of(*me.task);
    if ((flags & CANCEL_TASKGROUP) != 0) {
        task.is_cancelled = true;
    }
    if ((flags & (CANCEL_SECTIONS | CANCEL_LOOP)) != 0 && task.is_working) {
        flags = (flags & ~(CANCEL_SECTIONS | CANCEL_LOOP)) |
                (task.work == WorkKind::Sections ? CANCEL_SECTIONS : CANCEL_LOOP);
    }
    say<void(Data *, int, const void *)>(Event::Cancel, &task.data, flags, caller.code);
}

void error(bool is_fatal, const char *message, size_t length) {
    say<void(int, const char *, size_t, const void *)>(Event::Error, is_fatal ? 2 : 1, message, length,
                                                       caller.code);
}

int control(uint64_t command, uint64_t modifier, void *argument) {
    constexpr int NO_CALLBACK = -1;
    Function function = HRT_LOAD(&callbacks[static_cast<uint32_t>(Event::ControlTool)], HRT_RELAXED);
    if (function == nullptr) {
        return NO_CALLBACK;
    }
    InRuntime in_runtime(*self().task);
    return reinterpret_cast<int (*)(uint64_t, uint64_t, void *, const void *)>(function)(
        command, modifier, argument, caller.code);
}

} // namespace hadal::omp::ompt
