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

// How many threads a region of `me` gets that asks for `requested` (0: for none).
uint32_t team_size(const Member &me, uint32_t requested);

// The ICVs of the implicit tasks of a region that a task with these generates.
Icvs icvs_below(const Icvs &icvs);

} // namespace hadal::omp

#endif
