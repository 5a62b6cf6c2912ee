// SPDX-License-Identifier: Apache-2.0 OR MIT
// `ordered` regions. The compiler does not say which iteration a region belongs to, so whole chunks take
// turns.
#include "ordered.h"

#include "loop.h"

using namespace hadal::omp;
using namespace hadal::omp::gomp;

namespace {

void start_turn(Member &me) {
    if (me.size > 1 && me.workshare != nullptr) {
        ordered_await(me, me.chunk.begin);
    }
}

// The chunk may have more ordered regions, unless it is one iteration: then the turn can pass on at once.
[[gnu::noinline]] void end_turn(Member &me) {
    if (me.chunk.end - me.chunk.begin == 1) {
        ordered_leave(me);
    }
}

// For a tool the team stands for the lock.
[[gnu::noinline]] void start_with_tool(Member &me) {
    ompt::Acquire acquire(ompt::MutexKind::Ordered, me.team);
    start_turn(me);
    acquire.end();
}

[[gnu::noinline]] void end_with_tool(Member &me) {
    end_turn(me);
    ompt::mutex_released(ompt::MutexKind::Ordered, me.team);
}

} // namespace

namespace hadal::omp::gomp {

bool first_ordered(Member &me, uint64_t *begin, uint64_t *end) {
    me.takes_turns = me.size > 1 || ompt::is_on();
    return next_ordered(me, begin, end);
}

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

OMP_INLINED void GOMP_ordered_start() {
    Member *me = current;
    if (me != nullptr && me->takes_turns) {
        if (ompt::is_on()) {
            return ompt::with_caller([=] { start_with_tool(*me); });
        }
        start_turn(*me);
    }
}

OMP_INLINED void GOMP_ordered_end() {
    Member *me = current;
    if (me != nullptr && me->takes_turns) {
        if (ompt::is_on()) {
            return ompt::with_caller([=] { end_with_tool(*me); });
        }
        end_turn(*me);
    }
}
