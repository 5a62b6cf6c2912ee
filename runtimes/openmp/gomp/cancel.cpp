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

int flags_of(int kind) {
    switch (kind) {
    case PARALLEL:
        return ompt::CANCEL_PARALLEL;
    case LOOP:
        return ompt::CANCEL_LOOP;
    case SECTIONS:
        return ompt::CANCEL_SECTIONS;
    default:
        return ompt::CANCEL_TASKGROUP;
    }
}

// Tells a tool that something is cancelled, if it is.
bool said(Member &me, int which, int flag, bool is_cancelled) {
    if (is_cancelled && ompt::is_on()) {
        ompt::cancel_event(me, flags_of(which) | flag);
    }
    return is_cancelled;
}

} // namespace

OMP_EXPORT bool GOMP_cancellation_point(int which) {
    if (HRT_LIKELY(!settings.cancellation)) {
        return false;
    }
    OMPT_ENTRY();
    Member &me = self();
    return said(me, which, ompt::CANCEL_DETECTED, cancellation_point(me, construct_of(which)));
}

// `apply`: the value of an `if` clause. Where it is false there is still a cancellation point.
OMP_EXPORT bool GOMP_cancel(int which, bool apply) {
    if (HRT_LIKELY(!settings.cancellation)) {
        return false;
    }
    Member &me = self();
    OMPT_ENTRY();
    if (apply) {
        return said(me, which, ompt::CANCEL_ACTIVATED, cancel(me, construct_of(which)));
    }
    return said(me, which, ompt::CANCEL_DETECTED, cancellation_point(me, construct_of(which)));
}
