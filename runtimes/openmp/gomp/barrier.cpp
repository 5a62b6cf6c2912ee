// SPDX-License-Identifier: Apache-2.0 OR MIT
// `barrier`, and the implied barriers of constructs that the compiler does by itself.
#include "gomp.h"

using namespace hadal::omp;

OMP_EXPORT void GOMP_barrier() {
    if (ompt::is_on()) {
        return ompt::with_caller([] {
            ompt::Sync sync(self(), ompt::SyncKind::BarrierExplicit);
            barrier(self());
        });
    }
    barrier(self());
}

// In regions with a `cancel parallel`; true if the region is cancelled.
OMP_EXPORT bool GOMP_barrier_cancel() {
    if (ompt::is_on()) {
        return ompt::with_caller([] {
            ompt::Sync sync(self(), ompt::SyncKind::BarrierExplicit);
            return barrier_cancellable(self());
        });
    }
    return barrier_cancellable(self());
}
