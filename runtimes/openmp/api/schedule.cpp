// SPDX-License-Identifier: Apache-2.0 OR MIT
// The schedule of loops with schedule(runtime).
#include "core/team.h"
#include "routine.h"

using namespace hadal::omp;

namespace {
constexpr uint32_t MONOTONIC = 0x80000000;
}

OMP_EXPORT void omp_set_schedule(uint32_t kind, int chunk) {
    uint32_t plain = kind & ~MONOTONIC;
    if ((plain < static_cast<uint32_t>(ScheduleKind::Static) ||
         plain > static_cast<uint32_t>(ScheduleKind::Auto)) &&
        plain != static_cast<uint32_t>(ScheduleKind::Trapezoidal)) {
        warn("omp_set_schedule: there is no schedule %u, the call has no effect", plain);
        return;
    }
    Schedule &schedule = icvs_to_change(*self().task).run_schedule;
    schedule.kind = static_cast<ScheduleKind>(plain);
    schedule.monotonic = (kind & MONOTONIC) != 0;
    schedule.chunk = chunk > 0 && schedule.kind != ScheduleKind::Auto ? chunk : 0;
}

OMP_EXPORT void omp_get_schedule(uint32_t *kind, int *chunk) {
    const Schedule &schedule = self().task->icvs->run_schedule;
    *kind = static_cast<uint32_t>(schedule.kind) | (schedule.monotonic ? MONOTONIC : 0);
    bool has_default = schedule.chunk == 0 && schedule.kind != ScheduleKind::Static;
    *chunk = has_default ? 1 : to_int(schedule.chunk);
}

OMP_EXPORT void omp_set_schedule_(const uint32_t *kind, const int32_t *chunk) {
    omp_set_schedule(*kind, *chunk);
}
OMP_EXPORT void omp_set_schedule_8_(const uint32_t *kind, const int64_t *chunk) {
    omp_set_schedule(*kind, to_int(*chunk));
}
OMP_FORTRAN(void, omp_get_schedule, (uint32_t * kind, int *chunk));
OMP_EXPORT void omp_get_schedule_8_(uint32_t *kind, int64_t *chunk) {
    int narrow;
    omp_get_schedule(kind, &narrow);
    *chunk = narrow;
}
OMP_EXPORT void ompc_set_schedule(uint32_t kind, int chunk) { omp_set_schedule(kind, chunk); }
