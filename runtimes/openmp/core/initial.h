// SPDX-License-Identifier: Apache-2.0 OR MIT
// Code that runs as that of an initial task: teams of a league, and target regions on the host.
#ifndef HADAL_OMP_INITIAL_H
#define HADAL_OMP_INITIAL_H

#include "ompt/ompt.h"
#include "places.h"
#include "serial.h"

namespace hadal::omp {

// The same with a tool, as LLVM's run-time has it: an initial task in which there is a region of one thread,
// which runs the code.
template <typename Run>
void run_with_tool(Member &caller, uint32_t size, uint32_t number, uint32_t thread_limit, Run run) {
    Member &initial = serial_begin(caller, Alone::InitialTask);
    initial.team->league_size = size;
    initial.team->league_number = number;
    ompt::initial_begin(initial);
    Member &me = serial_begin(initial, Alone::InitialTask);
    me.team->league_size = size;
    me.team->league_number = number;
    if (thread_limit != 0 && thread_limit <= INT32_MAX) {
        icvs_to_change(*me.task).thread_limit = thread_limit;
    }
    current = &initial;
    ompt::parallel_begin(initial, *me.team, 1);
    current = &me;
    ompt::implicit_begin(me);
    run(me);
    ompt::serial_end(me);
    ompt::initial_end(initial);
    serial_end(initial);
}

// Calls `run` for a member that is alone in a team outside of all parallel regions, the `number`-th of a
// league of `size`, with a limit of threads (0: none of its own), and waits for its tasks. What it changes of
// its ICVs, and of the league, is undone.
template <typename Run>
void run_as_initial_task(Member &caller, uint32_t size, uint32_t number, uint32_t thread_limit, Run run) {
    if (ompt::is_on()) {
        run_with_tool(caller, size, number, thread_limit, run);
        return;
    }
    bool is_outside = caller.team->level == 0;
    Member &me = is_outside ? caller : serial_begin(caller, Alone::InitialTask);
    Task &task = *me.task;
    Team &team = *me.team;
    const Icvs *const icvs = task.icvs;
    const Icvs values = *icvs;
    const uint32_t outer_size = team.league_size, outer_number = team.league_number;
    team.league_size = size;
    team.league_number = number;
    if (thread_limit != 0 && thread_limit <= INT32_MAX) {
        icvs_to_change(task).thread_limit = thread_limit;
    }
    if (size > 1 && me.task->icvs->bind != Bind::False) {
        place_root(me);
    }
    const Placement was{me.place, me.partition};
    place_league_member(me, size, number);
    run(me);
    if (HRT_LIKELY(&task == &me.implicit)) {
        barrier(me);
    } else {
        taskwait(me);
    }
    place_at(me, was);
    if (is_outside) {
        task.icvs = icvs;
        if (icvs == &task.own_icvs) {
            task.own_icvs = values;
        }
        team.league_size = outer_size;
        team.league_number = outer_number;
    } else {
        serial_end(me);
    }
}

} // namespace hadal::omp

#endif
