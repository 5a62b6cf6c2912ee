// SPDX-License-Identifier: Apache-2.0 OR MIT
// Regions in which tasks wait for each other: barriers, `taskwait`, `taskgroup`.
#include "events.h"

namespace hadal::omp::ompt {

State waiting_state(SyncKind kind) {
    switch (kind) {
    case SyncKind::BarrierExplicit:
        return State::WaitBarrierExplicit;
    case SyncKind::BarrierImplementation:
        return State::WaitBarrierImplementation;
    case SyncKind::BarrierWorkshare:
        return State::WaitBarrierImplicitWorkshare;
    case SyncKind::BarrierTeams:
        return State::WaitBarrierTeams;
    case SyncKind::Taskwait:
        return State::WaitTaskwait;
    case SyncKind::Taskgroup:
        return State::WaitTaskgroup;
    default:
        return State::WaitBarrierImplicitParallel;
    }
}

void say_sync(Event event, SyncKind kind, Endpoint endpoint, Data *parallel, Data *task, const void *code) {
    say<void(int, int, Data *, Data *, const void *)>(event, static_cast<int>(kind),
                                                      static_cast<int>(endpoint), parallel, task, code);
}

Sync::Sync(Member &member, SyncKind which)
    : me(member), kind(which), from(caller), before(me.thread->tool.state) {
    work_close(me);
    TaskTool &task = tool_of(*me.task);
    task.frame.enter.ptr = from.frame;
    task.frame.enter_flags = FRAME_APPLICATION | FRAME_CFA;
    say_sync(Event::SyncRegion, kind, Endpoint::Begin, parallel_of(me), &task.data, from.code);
    me.thread->tool.state = waiting_state(kind);
    say_sync(Event::SyncRegionWait, kind, Endpoint::Begin, parallel_of(me), &task.data, from.code);
}

Sync::~Sync() {
    TaskTool &task = tool_of(*me.task);
    say_sync(Event::SyncRegionWait, kind, Endpoint::End, parallel_of(me), &task.data, from.code);
    me.thread->tool.state = before;
    say_sync(Event::SyncRegion, kind, Endpoint::End, parallel_of(me), &task.data, from.code);
    task.frame.enter.ptr = nullptr;
    task.frame.enter_flags = 0;
}

void taskgroup_begin(Member &me) {
    say_sync(Event::SyncRegion, SyncKind::Taskgroup, Endpoint::Begin, parallel_of(me),
             &tool_of(*me.task).data, caller.code);
}

void taskgroup_wait(Member &me, bool is_begin) {
    TaskTool &task = tool_of(*me.task);
    task.frame.enter.ptr = is_begin ? caller.frame : nullptr;
    task.frame.enter_flags = is_begin ? FRAME_APPLICATION | FRAME_CFA : 0;
    me.thread->tool.state = is_begin              ? State::WaitTaskgroup
                            : me.team->level == 0 ? State::WorkSerial
                                                  : State::WorkParallel;
    Endpoint endpoint = is_begin ? Endpoint::Begin : Endpoint::End;
    const void *code = is_begin ? caller.code : task.waits_at;
    task.waits_at = code;
    say_sync(Event::SyncRegionWait, SyncKind::Taskgroup, endpoint, parallel_of(me), &task.data, code);
    if (!is_begin) {
        say_sync(Event::SyncRegion, SyncKind::Taskgroup, endpoint, parallel_of(me), &task.data, code);
    }
}

} // namespace hadal::omp::ompt
