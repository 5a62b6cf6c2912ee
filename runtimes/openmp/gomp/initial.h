// SPDX-License-Identifier: Apache-2.0 OR MIT
// Code that runs as that of an initial task: teams of a league, and target regions on the host.
#ifndef HADAL_OMP_GOMP_INITIAL_H
#define HADAL_OMP_GOMP_INITIAL_H

#include "gomp.h"

namespace hadal::omp::gomp {

inline void limit_threads(Member &me, unsigned limit) {
    if (limit > 0 && limit <= INT32_MAX) {
        me.task->icvs.thread_limit = limit;
    }
}

// Calls `run` for a member that is alone in a team outside of all parallel regions; what it changes of its
// ICVs, and of the league, is undone.
template <typename Run> void as_initial_task(Member &me, Run run) {
    if (me.team->level == 0) {
        Team &team = *me.team;
        const Icvs icvs = me.task->icvs;
        const uint32_t size = team.league_size, number = team.league_number;
        run(me);
        me.task->icvs = icvs;
        team.league_size = size;
        team.league_number = number;
        return;
    }
    serial_begin(me);
    Member &inner = self();
    Team &team = *inner.team;
    team.level = 0;
    team.active_level = 0;
    team.league_size = 1;
    team.league_number = 0;
    team.icvs = me.task->icvs;
    team.icvs.nesting = 0;
    inner.task->icvs = team.icvs;
    run(inner);
    serial_end(inner);
}

} // namespace hadal::omp::gomp

#endif
