// SPDX-License-Identifier: Apache-2.0 OR MIT
// Regions of one thread. A member keeps the team of its last one, and what never changes in it: its level,
// its parent. So such a region costs little more than the call of its code.
#ifndef HADAL_OMP_SERIAL_H
#define HADAL_OMP_SERIAL_H

#include "team.h"

namespace hadal::omp {

// What a team of one is for: a region inside of what its member executes; or code that runs as that of an
// initial task, outside of all regions (initial.h).
enum class Alone { Region, InitialTask };

// The calling thread becomes the member of a team of one, until `serial_end`.
Member &serial_begin(Member &me, Alone purpose = Alone::Region);

// Whether a region of `me` that asks for `requested` threads (0: for none) has one.
inline bool is_serial(const Member &me, uint32_t requested) {
    const Icvs &icvs = *me.task->icvs;
    return me.team->active_level >= icvs.max_active_levels ||
           (requested != 0 ? requested : icvs.threads) == 1 || icvs.thread_limit == 1;
}

// The same as serial_begin, if there is a team that is ready for that, and nothing else to do; otherwise
// null.
inline Member *serial_begin_quickly(Member &me) {
    Member *inner = me.serial;
    if (HRT_LIKELY(inner != nullptr)) {
        inner->workshare = nullptr;
        inner->implicit.icvs = me.task->icvs;
        current = inner;
    }
    return inner;
}

// What is rarely to be done at the end.
void serial_end_slow(Member &inner);

inline void serial_end(Member &inner) {
    const Team &team = *inner.team;
    if (HRT_UNLIKELY((HRT_LOAD(&team.has_tasks, HRT_RELAXED) | HRT_LOAD(&team.is_cancelled, HRT_RELAXED)) !=
                     0)) {
        serial_end_slow(inner);
    }
    current = inner.outer;
}

// For a member that has got another thread or place: what it is in regions of one thread gets them, too.
void serial_follow(const Member &me);

} // namespace hadal::omp

#endif
