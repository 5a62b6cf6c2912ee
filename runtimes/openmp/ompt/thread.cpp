// SPDX-License-Identifier: Apache-2.0 OR MIT
// Threads that OpenMP knows of, and their initial tasks.
#include "events.h"

namespace hadal::omp::ompt {

thread_local constinit ThreadTool *own = nullptr;

namespace {

void say_initial_task(Member &me, Endpoint endpoint) {
    TaskTool &task = tool_of(me.implicit);
    task.kind = TASK_INITIAL;
    bool is_begin = endpoint == Endpoint::Begin;
    say<void(int, Data *, Data *, unsigned, unsigned, int)>(Event::ImplicitTask, static_cast<int>(endpoint),
                                                            is_begin ? parallel_of(me) : nullptr, &task.data,
                                                            is_begin ? 1 : 0, 1, TASK_INITIAL);
}

} // namespace

void thread_begin(Thread &thread, ThreadKind kind) {
    thread.tool.data.ptr = nullptr;
    thread.tool.has_begun = true;
    own = &thread.tool;
    thread.tool.state = kind == ThreadKind::Initial ? State::WorkSerial : State::Idle;
    say<void(int, Data *)>(Event::ThreadBegin, static_cast<int>(kind), &thread.tool.data);
    if (kind == ThreadKind::Initial) {
        Member &me = *thread.initial;
        me.tool = {};
        me.team->tool = {};
        say_initial_task(me, Endpoint::Begin);
    }
}

void thread_end(Thread &thread) {
    if (!thread.tool.has_begun) {
        return;
    }
    thread.tool.has_begun = false;
    if (thread.initial != nullptr) {
        // Its team is given up next.
        await_leaving();
        say_initial_task(*thread.initial, Endpoint::End);
    }
    say<void(Data *)>(Event::ThreadEnd, &thread.tool.data);
    own = nullptr;
}

} // namespace hadal::omp::ompt
