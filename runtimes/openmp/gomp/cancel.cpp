// SPDX-License-Identifier: Apache-2.0 OR MIT
// `cancel` and `cancellation point`: true tells the caller to go to the end of the construct.
#include "core/cancel.h"
#include "gomp.h"

using namespace hadal::omp;

namespace {

constexpr int PARALLEL = 1, LOOP = 2, SECTIONS = 4, TASKGROUP = 8;

Cancelled construct_of(int which) {
    switch (which) {
    case PARALLEL:
        return Cancelled::Parallel;
    case LOOP:
    case SECTIONS:
        return Cancelled::Workshare;
    case TASKGROUP:
        return Cancelled::Taskgroup;
    default:
        fatal("cancel: no construct has the number %d", which);
    }
}

} // namespace

OMP_EXPORT bool GOMP_cancellation_point(int which) {
    return HRT_UNLIKELY(settings.cancellation) && cancellation_point(self(), construct_of(which));
}

// `apply`: the value of an `if` clause. Where it is false there is still a cancellation point.
OMP_EXPORT bool GOMP_cancel(int which, bool apply) {
    if (HRT_LIKELY(!settings.cancellation)) {
        return false;
    }
    Member &me = self();
    return apply ? cancel(me, construct_of(which)) : cancellation_point(me, construct_of(which));
}
