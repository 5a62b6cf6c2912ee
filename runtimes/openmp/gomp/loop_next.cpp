// SPDX-License-Identifier: Apache-2.0 OR MIT
// A member's next chunk, and the ends of loops. The descriptor knows the schedule, so all names of one kind
// do the same.
#include "loop.h"
#include "ordered.h"

using namespace hadal::omp;
using namespace hadal::omp::gomp;

namespace hadal::omp::gomp {

bool next_ordered(Member &me, uint64_t *begin, uint64_t *end) {
    ordered_leave(me);
    Chunk chunk;
    if (!loop_next(me, &chunk)) {
        return false;
    }
    const Loop &loop = me.workshare->loop;
    *begin = loop.first + chunk.begin * loop.step;
    *end = chunk.end == loop.trips ? loop.end : loop.first + chunk.end * loop.step;
    me.chunk = chunk;
    return true;
}

} // namespace hadal::omp::gomp

#define NEXT(name, function)                                                                                 \
    OMP_EXPORT bool GOMP_loop_##name##_next(long *begin, long *end) {                                        \
        return function(self(), word(begin), word(end));                                                     \
    }                                                                                                        \
    OMP_EXPORT bool GOMP_loop_ull_##name##_next(ull *begin, ull *end) {                                      \
        return function(self(), word(begin), word(end));                                                     \
    }

NEXT(static, next)
NEXT(dynamic, next)
NEXT(guided, next)
NEXT(runtime, next)
NEXT(nonmonotonic_dynamic, next)
NEXT(nonmonotonic_guided, next)
NEXT(nonmonotonic_runtime, next)
NEXT(maybe_nonmonotonic_runtime, next)

NEXT(ordered_static, next_ordered)
NEXT(ordered_dynamic, next_ordered)
NEXT(ordered_guided, next_ordered)
NEXT(ordered_runtime, next_ordered)

OMP_EXPORT void GOMP_loop_end_nowait() {
    workshare_leave(self());
    if (ompt::is_on()) {
        OMPT_NOTE_CALLER();
        ompt::work_close(self());
    }
}

OMP_EXPORT void GOMP_loop_end() {
    Member &me = self();
    workshare_leave(me);
    if (ompt::is_on()) {
        OMPT_NOTE_CALLER();
        ompt::Sync sync(me, ompt::SyncKind::BarrierWorkshare);
        barrier(me);
        return;
    }
    barrier(me);
}

// In regions with a `cancel parallel`; true if the region is cancelled.
OMP_EXPORT bool GOMP_loop_end_cancel() {
    Member &me = self();
    workshare_leave(me);
    if (ompt::is_on()) {
        OMPT_NOTE_CALLER();
        ompt::Sync sync(me, ompt::SyncKind::BarrierWorkshare);
        return barrier_cancellable(me);
    }
    return barrier_cancellable(me);
}
