// SPDX-License-Identifier: Apache-2.0 OR MIT
// `ordered` regions. The compiler does not say which iteration a region belongs to, so whole chunks take
// turns.
#include "ordered.h"

#include "loop.h"

using namespace hadal::omp;
using namespace hadal::omp::gomp;

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

namespace hadal::omp::gomp {

bool next_ordered(Member &me, uint64_t *begin, uint64_t *end) {
    ordered_leave(me);
    Chunk chunk;
    if (!loop_next(me, &chunk)) {
        return false;
    }
    tell(me.workshare->loop, chunk, begin, end);
    me.chunk = chunk;
    return true;
}

} // namespace hadal::omp::gomp

OMP_EXPORT void GOMP_ordered_start() {
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

// The chunk may have more ordered regions, unless it is one iteration: then the turn can pass on at once.
OMP_EXPORT void GOMP_ordered_end() {
    Member &me = self();
    if (me.chunk.end - me.chunk.begin == 1) {
        ordered_leave(me);
    }
    if (ompt::is_on()) {
        OMPT_NOTE_CALLER();
        ompt::mutex_released(ompt::MutexKind::Ordered, me.team);
    }
}
