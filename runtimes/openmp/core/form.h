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

// How many of `threads` threads a region of `me` gets, where dyn-var or a thread limit bounds them.
uint32_t limited_team_size(Member &me, uint32_t threads);
// How many threads a region of `me` gets that asks for `requested` (0: for none).
// With a thread limit they are taken out of it, until `release_threads`.
inline uint32_t team_size(Member &me, uint32_t requested) {
    const Icvs &icvs = *me.task->icvs;
    if (me.team->active_level >= icvs.max_active_levels) {
        return 1;
    }
    uint32_t threads = requested != 0 ? requested : icvs.threads;
    bool is_limited = icvs.dynamic || icvs.thread_limit != UINT32_MAX || threads >= THREADS_MAX;
    return HRT_LIKELY(!is_limited) ? threads : limited_team_size(me, threads);
}
void release_threads(Member &me);

// Makes a task's ICVs those of the implicit tasks of a region that it generates, if lists such as
// OMP_NUM_THREADS=4,2 have other numbers for that.
void go_below(Icvs &icvs);

} // namespace hadal::omp

#endif
