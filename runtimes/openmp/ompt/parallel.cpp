// SPDX-License-Identifier: Apache-2.0 OR MIT
// Parallel regions and their implicit tasks.
//
// With a tool, the other members do not go on to wait for the next region before the primary member has said
// that this one is over, so that the tool learns when they leave the barrier at its end.
#include "core/barrier.h"
#include "core/serial.h"
#include "events.h"

namespace hadal::omp::ompt {

namespace {

// Members that have been let go and have yet to say that their implicit tasks have ended.
uint32_t leaving = 0;

void say_implicit(Member &me, Endpoint endpoint, Data *parallel) {
    say<void(int, Data *, Data *, unsigned, unsigned, int)>(Event::ImplicitTask, static_cast<int>(endpoint),
                                                            parallel, &me.tool.data, me.size, me.number,
                                                            me.tool.kind & TASK_KINDS);
}

struct Waiting {
    Member &me;
    const void *code;

    void say_both(Endpoint endpoint, Data *parallel) const {
        Data *task = &me.tool.data;
        bool is_begin = endpoint == Endpoint::Begin;
        say_sync(is_begin ? Event::SyncRegion : Event::SyncRegionWait, SyncKind::BarrierImplicit, endpoint,
                 parallel, task, code);
        me.thread->tool.state = is_begin ? State::WaitBarrierImplicitParallel : State::Overhead;
        say_sync(is_begin ? Event::SyncRegionWait : Event::SyncRegion, SyncKind::BarrierImplicit, endpoint,
                 parallel, task, code);
    }
};

// For a member that has come to the end: runs tasks until the primary member says that all is over.
void await_end(Member &me) {
    InBarrier in_barrier(me);
    const Team &team = *me.team;
    uint32_t mark = task_mark(me.epoch);
    auto is_over = [&] { return HRT_LOAD(&team.tool.ended, HRT_ACQUIRE) >= me.epoch; };
    for (;;) {
        await(me, [&] { return is_over() || HRT_LOAD(&team.has_tasks, HRT_RELAXED) == mark; });
        if (is_over()) {
            return;
        }
        help(me);
    }
}

void let_go(Team &team, uint64_t epoch) {
    HRT_FETCH_ADD(&leaving, team.size - 1, HRT_SEQ_CST);
    HRT_EXCHANGE(&team.tool.ended, epoch, HRT_SEQ_CST);
    if (has_sleepers(team)) {
        notify_all(team);
    }
}

} // namespace

void await_leaving() {
    while (HRT_LOAD(&leaving, HRT_ACQUIRE) != 0) {
        hrt_thread_yield();
    }
}

void parallel_begin(Member &me, Team &team, uint32_t requested) {
    TaskTool &task = tool_of(*me.task);
    task.frame.enter.ptr = caller.frame;
    task.frame.enter_flags = FRAME_APPLICATION | FRAME_CFA;
    team.tool.parallel.ptr = nullptr;
    team.tool.league = nullptr;
    team.tool.code = caller.code;
    team.tool.flags = PARALLEL_TEAM | PARALLEL_INVOKER_RUNTIME;
    say<void(Data *, const Frame *, Data *, unsigned, int, const void *)>(
        Event::ParallelBegin, &task.data, &task.frame, &team.tool.parallel,
        requested != 0 ? requested : me.task->icvs->threads, team.tool.flags, team.tool.code);
    // Until the member's implicit task begins.
    team.members[0]->tool = {};
    team.members[0]->tool.frame.exit.ptr = caller.frame;
    team.members[0]->tool.frame.exit_flags = FRAME_APPLICATION | FRAME_CFA;
}

void implicit_begin(Member &me) {
    Frame frame = me.number == 0 ? me.tool.frame : Frame();
    me.tool = {};
    me.tool.frame = frame;
    me.tool.kind = TASK_IMPLICIT | (me.size == 1 ? TASK_UNDEFERRED : 0);
    me.thread->tool.state = State::WorkParallel;
    say_implicit(me, Endpoint::Begin, parallel_of(me));
}

void member_join(Member &me) {
    Team &team = *me.team;
    work_close(me);
    me.tool.frame = {};
    Waiting waiting = {me, me.number == 0 ? team.tool.code : nullptr};
    waiting.say_both(Endpoint::Begin, parallel_of(me));
    if (me.size > 1) {
        join(me);
        if (me.number == 0) {
            let_go(team, me.epoch);
        } else {
            await_end(me);
        }
    } else if (HRT_LOAD(&team.has_tasks, HRT_RELAXED) != 0) {
        barrier(me);
        team.has_tasks = 0;
    }
    // The region may be gone, except for the primary member.
    waiting.say_both(Endpoint::End, nullptr);
    say_implicit(me, Endpoint::End, nullptr);
    if (me.number != 0) {
        me.thread->tool.state = State::Idle;
        HRT_FETCH_SUB(&leaving, 1, HRT_ACQ_REL);
    }
}

void parallel_end(Member &me, Team &team) {
    TaskTool &task = tool_of(*me.task);
    me.thread->tool.state = me.team->level == 0 ? State::WorkSerial : State::WorkParallel;
    say<void(Data *, Data *, int, const void *)>(Event::ParallelEnd, &team.tool.parallel, &task.data,
                                                 team.tool.flags, team.tool.code);
    task.frame.enter.ptr = nullptr;
    task.frame.enter_flags = 0;
}

Member &serial_begin(Member &me, uint32_t requested) {
    Member &inner = omp::serial_begin(me);
    current = &me;
    parallel_begin(me, *inner.team, requested);
    current = &inner;
    implicit_begin(inner);
    return inner;
}

void serial_end(Member &inner) {
    Member &outer = *inner.outer;
    member_join(inner);
    omp::serial_end(inner);
    parallel_end(outer, *inner.team);
}

} // namespace hadal::omp::ompt
