// SPDX-License-Identifier: Apache-2.0 OR MIT
// `single`. The barrier at its end is a call of its own.
#include "gomp.h"

using namespace hadal::omp;

OMP_INLINED bool GOMP_single_start() {
    if (ompt::is_on()) {
        return ompt::with_caller([=] { return ompt::single(self()); });
    }
    return single_enter(self());
}

// With `copyprivate`: a worksharing construct whose descriptor is ready when the one that executes is done.
// Returns null to it, and its data to the others. They are on its stack, which it does not leave before the
// barrier that follows.
OMP_EXPORT void *GOMP_single_copy_start() {
    Member &me = self();
    bool is_executor = workshare_enter(me);
    if (ompt::is_on()) {
        OMPT_NOTE_CALLER();
        ompt::work_single(me, is_executor);
    }
    if (is_executor) {
        return nullptr;
    }
    void *data = me.workshare->copy;
    workshare_leave(me);
    return data;
}

OMP_EXPORT void GOMP_single_copy_end(void *data) {
    Member &me = self();
    if (ompt::is_on()) {
        OMPT_NOTE_CALLER();
        ompt::work_close(me);
    }
    me.workshare->copy = data;
    workshare_publish(me);
    workshare_leave(me);
}
