// SPDX-License-Identifier: Apache-2.0 OR MIT
// Code that runs as that of an initial task: teams of a league, and target regions on the host.
#ifndef HADAL_OMP_INITIAL_H
#define HADAL_OMP_INITIAL_H

#include "team.h"

namespace hadal::omp {

// Calls `run` for a member that is alone in a team outside of all parallel regions, the `number`-th of a
// league of `size`, with a limit of threads (0: none of its own). What it changes of its ICVs is undone.
template <typename Run>
void run_as_initial_task(Member &caller, uint32_t size, uint32_t number, uint32_t thread_limit, Run run) {
    bool is_outside = caller.team->level == 0;
    Icvs icvs = caller.task->icvs;
    if (!is_outside) {
        serial_begin(caller);
    }
    Member &me = self();
    Team &team = *me.team;
    const uint32_t outer_size = team.league_size, outer_number = team.league_number;
    team.league_size = size;
    team.league_number = number;
    if (!is_outside) {
        team.level = 0;
        team.active_level = 0;
        icvs.nesting = 0;
    }
    me.task->icvs = icvs;
    if (thread_limit != 0) {
        me.task->icvs.thread_limit = thread_limit;
    }
    team.icvs = me.task->icvs;
    run(me);
    barrier(me);
    if (is_outside) {
        me.task->icvs = team.icvs = icvs;
        team.league_size = outer_size;
        team.league_number = outer_number;
    } else {
        serial_end(me);
    }
}

} // namespace hadal::omp

#endif
