// SPDX-License-Identifier: Apache-2.0 OR MIT
// `teams` on the host: the teams of the league run one after the other, each with all the threads that its
// parallel regions ask for.
#include "core/initial.h"

#include "gomp.h"

using namespace hadal::omp;
using namespace hadal::omp::gomp;

namespace {

// 0 stands for no clause.
uint32_t league_size(unsigned clause) {
    uint32_t size = clause > 0 && clause <= INT32_MAX ? clause : settings.teams;
    return size > 0 ? size : 1;
}

uint32_t limit_of(unsigned clause) {
    return clause > 0 && clause <= INT32_MAX ? clause : settings.teams_thread_limit;
}

} // namespace

OMP_EXPORT void GOMP_teams_reg(Function function, void *data, unsigned teams, unsigned limit, unsigned) {
    OMPT_ENTRY();
    Member &caller = self();
    uint32_t size = league_size(teams);
    if (ompt::is_on()) {
        ompt::League league(caller, size);
        for (uint32_t number = 0; number < size; number++) {
            run_as_initial_task(caller, size, number, limit_of(limit),
                                [&](Member &me) { call_code(me, code_of(function), data); });
        }
        return;
    }
    for (uint32_t number = 0; number < size; number++) {
        run_as_initial_task(caller, size, number, limit_of(limit), [&](Member &) { function(data); });
    }
}

// Inside of a target region, which has a league of one team around it: the caller runs a team's code, once
// after each call that returns true.
OMP_EXPORT bool GOMP_teams4(unsigned, unsigned teams, unsigned limit, bool is_first) {
    Member &me = self();
    Team &team = *me.team;
    if (is_first) {
        team.league_size = league_size(teams);
        team.league_number = 0;
        if (uint32_t most = limit_of(limit); most != 0) {
            icvs_to_change(*me.task).thread_limit = most;
        }
        return true;
    }
    if (team.league_number + 1 >= team.league_size) {
        return false;
    }
    team.league_number++;
    return true;
}

// The same of older compilers, whose code follows once: a league of one team is one that the standard allows.
OMP_EXPORT void GOMP_teams(unsigned, unsigned limit) { GOMP_teams4(1, 1, limit, true); }
