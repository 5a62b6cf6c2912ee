// SPDX-License-Identifier: Apache-2.0 OR MIT
// `single`. The barrier at its end is a call of its own.
#include "gomp.h"

using namespace hadal::omp;

OMP_EXPORT bool GOMP_single_start() { return single_enter(self()); }

// With `copyprivate`: a worksharing construct whose descriptor is ready when the one that executes is done.
// Returns null to it, and its data to the others. They are on its stack, which it does not leave before the
// barrier that follows.
OMP_EXPORT void *GOMP_single_copy_start() {
    Member &me = self();
    if (workshare_enter(me)) {
        return nullptr;
    }
    void *data = me.workshare->copy;
    workshare_leave(me);
    return data;
}

OMP_EXPORT void GOMP_single_copy_end(void *data) {
    Member &me = self();
    me.workshare->copy = data;
    workshare_publish(me);
    workshare_leave(me);
}
