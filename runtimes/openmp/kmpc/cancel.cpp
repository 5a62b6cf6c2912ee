// SPDX-License-Identifier: Apache-2.0 OR MIT
// `cancel` and `cancellation point`: not zero tells the caller to go to the end of the construct.
#include "core/cancel.h"

#include "ident.h"
#include "leave.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

namespace {

constexpr int32_t PARALLEL = 1, LOOP = 2, SECTIONS = 3, TASKGROUP = 4;

Cancelled construct_of(int32_t kind) {
    switch (kind) {
    case PARALLEL:
        return Cancelled::Parallel;
    case LOOP:
    case SECTIONS:
        return Cancelled::Workshare;
    case TASKGROUP:
        return Cancelled::Taskgroup;
    default:
        fatal("cancel: no construct has the number %d", kind);
    }
}

int flags_of(int32_t kind) {
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
int32_t said(Member &me, int32_t kind, int flag, int32_t is_cancelled) {
    if (is_cancelled != 0 && ompt::is_on()) {
        ompt::cancel_event(me, flags_of(kind) | flag);
    }
    return is_cancelled;
}

// The caller leaves a loop: it may not ask for a chunk any more.
int32_t left(Member &me, Cancelled what) {
    if (what == Cancelled::Workshare) {
        leave(me);
    }
    return 1;
}

} // namespace

OMP_EXPORT int32_t __kmpc_cancel(const Ident *, Gtid, int32_t kind) {
    if (__builtin_expect(!settings.cancellation, true)) {
        return 0;
    }
    Member &me = self();
    Cancelled what = construct_of(kind);
    OMPT_ENTRY();
    return said(me, kind, ompt::CANCEL_ACTIVATED, cancel(me, what) ? left(me, what) : 0);
}

OMP_EXPORT int32_t __kmpc_cancellationpoint(const Ident *, Gtid, int32_t kind) {
    if (__builtin_expect(!settings.cancellation, true)) {
        return 0;
    }
    Member &me = self();
    Cancelled what = construct_of(kind);
    OMPT_ENTRY();
    return said(me, kind, ompt::CANCEL_DETECTED, cancellation_point(me, what) ? left(me, what) : 0);
}
