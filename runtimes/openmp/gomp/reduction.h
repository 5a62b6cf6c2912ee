// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reductions in which tasks take part, as gcc describes them: an array of words, of which the compiler fills
// in one part and the run-time the other. Word 4 is the next array, or zero.
#ifndef HADAL_OMP_GOMP_REDUCTION_H
#define HADAL_OMP_GOMP_REDUCTION_H

#include "core/reduction.h"
#include "gomp.h"

namespace hadal::omp::gomp {

// Makes a scope with private copies for all members of the team, inside of the one that the current task is
// in, and tells the compiler's code by the descriptor where they are.
ReductionScope *reductions_new(Member &me, uintptr_t *descriptor);
void reductions_free(uintptr_t *descriptor);

// For worksharing constructs: the first member makes the scope, between workshare_enter and
// workshare_publish. Then all begin a taskgroup with it.
void reductions_share(Member &me, uintptr_t *descriptor);
void reductions_join(Member &me, uintptr_t *descriptor);

} // namespace hadal::omp::gomp

#endif
