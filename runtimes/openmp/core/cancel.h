// SPDX-License-Identifier: Apache-2.0 OR MIT
// Cancellation of parallel regions, worksharing constructs and taskgroups.
#ifndef HADAL_OMP_CANCEL_H
#define HADAL_OMP_CANCEL_H

#include "team.h"

namespace hadal::omp {

enum class Cancelled { Parallel, Workshare, Taskgroup };

// Cancels; false, and nothing, if cancellation is off (OMP_CANCELLATION).
bool cancel(Member &me, Cancelled what);
// Whether the innermost construct of this kind is cancelled.
bool cancellation_point(Member &me, Cancelled what);

} // namespace hadal::omp

#endif
