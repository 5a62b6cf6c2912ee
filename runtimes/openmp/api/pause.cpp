// SPDX-License-Identifier: Apache-2.0 OR MIT
// Giving resources back between regions: the calling thread's teams give up their threads, which then sleep
// until any team needs them. Nothing of the program's is lost, whichever way it asks.
#include "core/form.h"
#include "core/team.h"
#include "routine.h"

using namespace hadal::omp;

namespace {
constexpr int PAUSE_SOFT = 1, PAUSE_HARD = 2;
}

OMP_EXPORT int omp_pause_resource_all(int kind) {
    Member &me = self();
    // Inside of a region its threads are in use.
    if ((kind != PAUSE_SOFT && kind != PAUSE_HARD) || me.team->level > 0) {
        return -1;
    }
    team_dismiss(me);
    return 0;
}

OMP_EXPORT int omp_pause_resource(int kind, int device) {
    bool is_host = device == 0 || device == -1;
    return is_host ? omp_pause_resource_all(kind) : -1;
}

OMP_EXPORT int omp_pause_resource_(const int32_t *kind, const int32_t *device) {
    return omp_pause_resource(*kind, *device);
}
OMP_EXPORT int omp_pause_resource_all_(const int32_t *kind) { return omp_pause_resource_all(*kind); }
