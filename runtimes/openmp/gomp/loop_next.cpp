// SPDX-License-Identifier: Apache-2.0 OR MIT
// A member's next chunk, and the ends of loops. The descriptor knows the schedule, so all names of one kind
// do the same.
#include "core/guided.h"
#include "loop.h"

using namespace hadal::omp;
using namespace hadal::omp::gomp;

namespace {

[[gnu::noinline]] bool next_not_ready(uint64_t *begin, uint64_t *end) { return next(self(), begin, end); }

// Whoever asks for a chunk has begun the loop, so it has a member.
bool next_of_any(uint64_t *begin, uint64_t *end) {
    return HRT_LIKELY(loop_next_ready(*current, begin, end)) || next_not_ready(begin, end);
}

bool next_ordered_of_any(uint64_t *begin, uint64_t *end) { return next_ordered(self(), begin, end); }

// The same, in fewer steps, if the loop is what it was begun as (`for_team` makes others of them).
bool next_guided(uint64_t *begin, uint64_t *end) {
    const Member &me = *current;
    Workshare &workshare = *me.workshare;
    if (HRT_UNLIKELY(workshare.loop.kind != ScheduleKind::Guided) ||
        HRT_UNLIKELY(HRT_LOAD(&workshare.is_cancelled, HRT_RELAXED) != 0)) {
        return next_not_ready(begin, end);
    }
    Chunk chunk;
    // gcc's calls know no units.
    if (!guided_next(workshare, me.size, 1, &chunk)) {
        return false;
    }
    tell(workshare.loop, chunk, begin, end);
    return true;
}

} // namespace

#define NEXT(name, function)                                                                                 \
    OMP_INLINED bool GOMP_loop_##name##_next(long *begin, long *end) {                                       \
        return function(word(begin), word(end));                                                             \
    }                                                                                                        \
    OMP_INLINED bool GOMP_loop_ull_##name##_next(ull *begin, ull *end) {                                     \
        return function(word(begin), word(end));                                                             \
    }

NEXT(static, next_of_any)
NEXT(dynamic, next_of_any)
NEXT(guided, next_guided)
NEXT(runtime, next_of_any)
NEXT(nonmonotonic_dynamic, next_of_any)
NEXT(nonmonotonic_guided, next_guided)
NEXT(nonmonotonic_runtime, next_of_any)
NEXT(maybe_nonmonotonic_runtime, next_of_any)

NEXT(ordered_static, next_ordered_of_any)
NEXT(ordered_dynamic, next_ordered_of_any)
NEXT(ordered_guided, next_ordered_of_any)
NEXT(ordered_runtime, next_ordered_of_any)

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
