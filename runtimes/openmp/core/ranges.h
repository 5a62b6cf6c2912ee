// SPDX-License-Identifier: Apache-2.0 OR MIT
// schedule(nonmonotonic: dynamic): each member has a range of positions, takes chunks from its beginning, and
// when it is empty steals half of what another member has left. So members do not contend for one line.
//
// The last chunk is in no range: the member that takes it gets no other after it, since compilers find out by
// its last chunk whether a member has the value of a `lastprivate` variable.
#ifndef HADAL_OMP_RANGES_H
#define HADAL_OMP_RANGES_H

#include "team.h"

namespace hadal::omp {

// Whether a loop's positions fit into ranges.
bool ranges_fit(const Member &me, const Loop &loop);
// Deals the positions out; for the first member to come, before the loop is published.
void ranges_deal(Member &me, const Loop &loop);
// Reserves chunks for the member, and takes the first; the others are ready. False when there are none
// anywhere.
bool ranges_next(Member &me, const Loop &loop, Chunk *chunk);

} // namespace hadal::omp

#endif
