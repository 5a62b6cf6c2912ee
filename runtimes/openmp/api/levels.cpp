// SPDX-License-Identifier: Apache-2.0 OR MIT
// Routines about nested parallel regions.
#include "core/team.h"
#include "routine.h"

using namespace hadal::omp;

namespace {

// The ancestor of the calling thread at a level; null: there is no such level. `*number` is its number there.
const Team *ancestor(int level, uint32_t *number) {
    const Member &me = self();
    const Team *team = me.team;
    *number = me.number;
    if (level < 0 || static_cast<uint32_t>(level) > team->level) {
        return nullptr;
    }
    while (team->level > static_cast<uint32_t>(level)) {
        *number = team->parent_number;
        team = team->parent;
    }
    return team;
}

} // namespace

OMP_EXPORT int omp_get_level() { return static_cast<int>(self().team->level); }
OMP_EXPORT int omp_get_active_level() { return static_cast<int>(self().team->active_level); }

OMP_EXPORT int omp_get_ancestor_thread_num(int level) {
    uint32_t number;
    return ancestor(level, &number) != nullptr ? static_cast<int>(number) : -1;
}

OMP_EXPORT int omp_get_team_size(int level) {
    uint32_t number;
    const Team *team = ancestor(level, &number);
    return team != nullptr ? static_cast<int>(team->size) : -1;
}

OMP_EXPORT int omp_get_supported_active_levels() { return static_cast<int>(ACTIVE_LEVELS_MAX); }
OMP_EXPORT int omp_get_max_active_levels() { return to_int(self().task->icvs->max_active_levels); }

OMP_EXPORT void omp_set_max_active_levels(int levels) {
    if (levels >= 0) {
        uint32_t wanted = static_cast<uint32_t>(levels);
        icvs_to_change(*self().task).max_active_levels =
            wanted < ACTIVE_LEVELS_MAX ? wanted : ACTIVE_LEVELS_MAX;
    }
}

OMP_EXPORT int omp_get_nested() {
    const Member &me = self();
    uint32_t levels = me.task->icvs->max_active_levels;
    return levels > 1 && levels > me.team->active_level;
}

OMP_EXPORT void omp_set_nested(int nested) {
    uint32_t &levels = icvs_to_change(*self().task).max_active_levels;
    if (nested) {
        levels = ACTIVE_LEVELS_MAX;
    } else if (levels > 1) {
        levels = 1;
    }
}

OMP_FORTRAN(int, omp_get_level, ());
OMP_FORTRAN(int, omp_get_active_level, ());
OMP_FORTRAN(int, omp_get_supported_active_levels, ());
OMP_FORTRAN(int, omp_get_max_active_levels, ());
OMP_FORTRAN(int, omp_get_nested, ());
OMP_FORTRAN_OF_INT(int, omp_get_ancestor_thread_num)
OMP_FORTRAN_OF_INT(int, omp_get_team_size)
OMP_FORTRAN_OF_INT(void, omp_set_max_active_levels)
OMP_FORTRAN_OF_INT(void, omp_set_nested)

OMP_EXPORT int ompc_get_ancestor_thread_num(int level) { return omp_get_ancestor_thread_num(level); }
OMP_EXPORT int ompc_get_team_size(int level) { return omp_get_team_size(level); }
OMP_EXPORT void ompc_set_max_active_levels(int levels) { omp_set_max_active_levels(levels); }
OMP_EXPORT void ompc_set_nested(int nested) { omp_set_nested(nested); }
