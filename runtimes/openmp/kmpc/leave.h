// SPDX-License-Identifier: Apache-2.0 OR MIT
// The descriptors of loops whose iterations the compiler's code runs through. It may not say when it leaves a
// loop that is cancelled, and says twice when it leaves others.
#ifndef HADAL_OMP_KMPC_LEAVE_H
#define HADAL_OMP_KMPC_LEAVE_H

#include "core/team.h"

namespace hadal::omp::kmpc {

inline void leave(Member &me) {
    if (me.workshare != nullptr) {
        workshare_leave(me);
        me.workshare = nullptr;
    }
}

// A construct that needs a descriptor only so that it can be cancelled.
inline void enter_cancellable(Member &me) {
    if (workshare_enter(me)) {
        workshare_publish(me);
    }
}

} // namespace hadal::omp::kmpc

#endif
