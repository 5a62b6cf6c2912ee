// SPDX-License-Identifier: Apache-2.0 OR MIT
// `teams`: a league, whose teams run one after the other, each as an initial task.
#include "events.h"

namespace hadal::omp::ompt {

namespace {

// The innermost league that the calling thread runs.
thread_local constinit Data *league = nullptr;

constexpr int LEAGUE_FLAGS = PARALLEL_LEAGUE | PARALLEL_INVOKER_RUNTIME;

} // namespace

League::League(Member &member, uint32_t size) : me(member), outer(league), code(caller.code) {
    league = &parallel;
    TaskTool &task = tool_of(*me.task);
    task.frame.enter.ptr = caller.frame;
    task.frame.enter_flags = FRAME_APPLICATION | FRAME_CFA;
    say<void(Data *, const Frame *, Data *, unsigned, int, const void *)>(
        Event::ParallelBegin, &task.data, &task.frame, &parallel, size, LEAGUE_FLAGS, code);
}

League::~League() {
    league = outer;
    TaskTool &task = tool_of(*me.task);
    say<void(Data *, Data *, int, const void *)>(Event::ParallelEnd, &parallel, &task.data, LEAGUE_FLAGS,
                                                 code);
    task.frame.enter.ptr = nullptr;
    task.frame.enter_flags = 0;
}

void initial_begin(Member &me) {
    me.tool = {};
    me.tool.kind = TASK_INITIAL;
    me.team->tool.league = league;
    me.thread->tool.state = State::WorkSerial;
    say<void(int, Data *, Data *, unsigned, unsigned, int)>(
        Event::ImplicitTask, static_cast<int>(Endpoint::Begin), parallel_of(me), &me.tool.data,
        me.team->league_size, me.team->league_number, TASK_INITIAL);
}

void initial_end(Member &me) {
    say<void(int, Data *, Data *, unsigned, unsigned, int)>(
        Event::ImplicitTask, static_cast<int>(Endpoint::End), nullptr, &me.tool.data, 0u,
        me.team->league_number, TASK_INITIAL);
    me.team->tool.league = nullptr;
}

} // namespace hadal::omp::ompt
