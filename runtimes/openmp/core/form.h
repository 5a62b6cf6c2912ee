// SPDX-License-Identifier: Apache-2.0 OR MIT
// Forming teams.
#ifndef HADAL_OMP_FORM_H
#define HADAL_OMP_FORM_H

#include "team.h"

namespace hadal::omp {

// A team with one member, which has no thread yet.
Team &team_new();

// Makes the hot team of `me` have so many members (or fewer, if there are no more threads), placed as `bind`
// says, and returns it.
Team &team_form(Member &me, uint32_t size, Bind bind);

// Gives the threads of the hot teams of `me`, and of its members, back to the pool.
void team_dismiss(Member &me);

// What never changes in a member's implicit task.
void prepare_implicit(Member &me);

// The same for a region that asks for more than one, as far as it is about the machine.
uint32_t team_size_of_more(const Icvs &icvs, uint32_t threads);

// How many threads a region of `me` gets that asks for `requested` (0: for none).
inline uint32_t team_size(const Member &me, uint32_t requested) {
    const Icvs &icvs = *me.task->icvs;
    if (me.team->active_level >= icvs.max_active_levels) {
        return 1;
    }
    uint32_t threads = requested != 0 ? requested : icvs.threads;
    threads = threads < icvs.thread_limit ? threads : icvs.thread_limit;
    return HRT_LIKELY(threads == 1) ? 1 : team_size_of_more(icvs, threads);
}

// Makes a task's ICVs those of the implicit tasks of a region that it generates, if lists such as
// OMP_NUM_THREADS=4,2 have other numbers for that.
void go_below(Icvs &icvs);

} // namespace hadal::omp

#endif
