// SPDX-License-Identifier: Apache-2.0 OR MIT
// `ordered` regions: iterations take turns. The end of an iteration is in dispatch.cpp.
#include "core/team.h"
#include "ident.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

namespace {

// For a tool the team stands for the lock.
[[gnu::noinline]] void ordered_with_tool(Member &me) {
    ompt::Acquire acquire(ompt::MutexKind::Ordered, me.team);
    if (me.size > 1 && me.workshare != nullptr) {
        ordered_await(me, me.chunk.begin);
    }
    acquire.end();
}

} // namespace

OMP_EXPORT void __kmpc_ordered(const Ident *, Gtid) {
    Member &me = self();
    if (ompt::is_on()) {
        OMPT_NOTE_CALLER();
        ordered_with_tool(me);
        return;
    }
    if (me.size > 1 && me.workshare != nullptr) {
        ordered_await(me, me.chunk.begin);
    }
}

// An iteration has one ordered region at most, so the next one can go on.
OMP_EXPORT void __kmpc_end_ordered(const Ident *, Gtid) {
    Member &me = self();
    if (me.size > 1 && me.workshare != nullptr) {
        ordered_pass(me, me.chunk.begin, me.chunk.begin + 1);
    }
    if (ompt::is_on()) {
        OMPT_NOTE_CALLER();
        ompt::mutex_released(ompt::MutexKind::Ordered, me.team);
    }
}
