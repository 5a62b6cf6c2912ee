// SPDX-License-Identifier: Apache-2.0 OR MIT
// Worksharing loops as gcc's calls describe them. Iteration variables are of type long, or unsigned long long
// ("ull"), and are handed out as [*begin, *end); to the core both are numbers modulo 2^64.
#ifndef HADAL_OMP_GOMP_LOOP_H
#define HADAL_OMP_GOMP_LOOP_H

#include "gomp.h"

namespace hadal::omp::gomp {

// A loop without its schedule.
inline Loop loop_of(long first, long end, long step) {
    Loop loop;
    loop.trips = trips_of(first, end, step);
    loop.first = static_cast<uint64_t>(first);
    loop.step = static_cast<uint64_t>(step);
    loop.end = static_cast<uint64_t>(end);
    return loop;
}

inline Loop loop_of(bool is_up, ull first, ull end, ull step) {
    Loop loop;
    loop.trips = trips_of_unsigned(is_up, first, end, step);
    loop.first = first;
    loop.step = step;
    loop.end = end;
    return loop;
}

// The iterations 0..count of the outermost loop of a nest.
inline Loop loop_of(uint64_t count) {
    Loop loop;
    loop.trips = count;
    loop.end = count;
    return loop;
}

inline Loop scheduled(Loop loop, ScheduleKind kind, int64_t chunk) {
    loop.kind = kind;
    loop.chunk = chunk > 0 ? static_cast<uint64_t>(chunk) : 0; // 0: the schedule's default
    return loop;
}

// For unsigned loops a chunk may be larger than any long.
inline Loop scheduled_ull(Loop loop, ScheduleKind kind, ull chunk) {
    loop.kind = kind;
    loop.chunk = chunk;
    return loop;
}

inline Loop ordered(Loop loop) {
    loop.is_ordered = true;
    return loop;
}

inline Loop nonmonotonic(Loop loop) {
    loop.is_nonmonotonic = true;
    return loop;
}

// The iterations of a chunk.
inline void tell(const Loop &loop, Chunk chunk, uint64_t *begin, uint64_t *end) {
    *begin = loop.first + chunk.begin * loop.step;
    // One step behind the last iteration there may be no number of the type any more.
    *end = chunk.end == loop.trips ? loop.end : loop.first + chunk.end * loop.step;
}

// For loops of which the member has nothing ready.
inline bool next(Member &me, uint64_t *begin, uint64_t *end) {
    Chunk chunk;
    if (!loop_next(me, &chunk)) {
        return false;
    }
    tell(me.workshare->loop, chunk, begin, end);
    return true;
}

// For loops with ordered regions: chunks take turns, and the turn of the one before is over.
bool first_ordered(Member &me, uint64_t *begin, uint64_t *end);
bool next_ordered(Member &me, uint64_t *begin, uint64_t *end);

// Nobody shares the loop of a team of one: it can have it as one chunk.
inline Loop for_team(const Member &me, Loop loop) {
    if (me.size == 1) {
        loop.kind = ScheduleKind::Static;
        loop.chunk = 0;
    }
    return loop;
}

inline bool start(const Loop &loop, uint64_t *begin, uint64_t *end) {
    Member &me = self();
    if (ompt::is_on()) {
        ompt::work_begin(me, ompt::WorkKind::Loop, loop.trips);
    }
    loop_enter(me, for_team(me, loop));
    return loop.is_ordered ? first_ordered(me, begin, end) : next(me, begin, end);
}

inline uint64_t *word(long *number) { return reinterpret_cast<uint64_t *>(number); }
inline uint64_t *word(ull *number) { return reinterpret_cast<uint64_t *>(number); }

} // namespace hadal::omp::gomp

#endif
