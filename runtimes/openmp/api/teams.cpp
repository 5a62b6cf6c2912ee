// SPDX-License-Identifier: Apache-2.0 OR MIT
// Routines about leagues of teams.
#include "core/team.h"
#include "routine.h"

using namespace hadal::omp;

OMP_EXPORT int omp_get_num_teams() { return static_cast<int>(league_of(*self().team).league_size); }
OMP_EXPORT int omp_get_team_num() { return static_cast<int>(league_of(*self().team).league_number); }
// 0: as many as the run-time likes.
OMP_EXPORT int omp_get_max_teams() { return to_int(settings_read().teams); }
OMP_EXPORT int omp_get_teams_thread_limit() { return to_int(settings_read().teams_thread_limit); }

OMP_EXPORT void omp_set_num_teams(int teams) {
    if (teams > 0) {
        settings_read().teams = static_cast<uint32_t>(teams);
    }
}
OMP_EXPORT void omp_set_teams_thread_limit(int threads) {
    if (threads > 0) {
        settings_read().teams_thread_limit = static_cast<uint32_t>(threads);
    }
}

OMP_FORTRAN(int, omp_get_num_teams, ());
OMP_FORTRAN(int, omp_get_team_num, ());
OMP_FORTRAN(int, omp_get_max_teams, ());
OMP_FORTRAN(int, omp_get_teams_thread_limit, ());
OMP_FORTRAN_OF_INT(void, omp_set_num_teams)
OMP_FORTRAN_OF_INT(void, omp_set_teams_thread_limit)
