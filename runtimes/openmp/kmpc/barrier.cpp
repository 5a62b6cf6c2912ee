// SPDX-License-Identifier: Apache-2.0 OR MIT
// Barriers, explicit ones and those at the end of constructs, and `scope`, which is nothing else.
#include "core/cancel.h"
#include "ident.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

namespace {

ompt::SyncKind kind_of(const Ident *place) {
    constexpr uint32_t EXPLICIT = 0x20, IMPLICIT = 0x40, IMPLICIT_WORKSHARE = 0x1c0;
    uint32_t flags = place != nullptr ? place->flags : EXPLICIT;
    return (flags & EXPLICIT) != 0 ? ompt::SyncKind::BarrierExplicit
           : (flags & IMPLICIT_WORKSHARE & ~IMPLICIT) == 0 && (flags & IMPLICIT) == 0
               ? ompt::SyncKind::BarrierImplementation
               : ompt::SyncKind::BarrierWorkshare;
}

[[gnu::noinline]] bool barrier_with_tool(Member &me, const Ident *place, bool is_cancellable) {
    ompt::Sync sync(me, kind_of(place));
    if (is_cancellable) {
        return barrier_cancellable(me);
    }
    barrier(me);
    return false;
}

} // namespace

OMP_EXPORT void __kmpc_barrier(const Ident *place, Gtid) {
    if (ompt::is_on()) {
        return ompt::with_caller([=] { barrier_with_tool(self(), place, false); });
    }
    barrier(self());
}

// True if the parallel region is cancelled: the caller leaves it.
OMP_EXPORT int32_t __kmpc_cancel_barrier(const Ident *place, Gtid) {
    if (ompt::is_on()) {
        return ompt::with_caller([=] { return barrier_with_tool(self(), place, true); });
    }
    return barrier_cancellable(self());
}

// The barrier of a scope construct is a call of its own.
OMP_EXPORT void __kmpc_scope(const Ident *, Gtid, void *) {}

OMP_EXPORT void __kmpc_end_scope(const Ident *, Gtid, void *) {}
