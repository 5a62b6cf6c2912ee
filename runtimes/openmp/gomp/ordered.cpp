// SPDX-License-Identifier: Apache-2.0 OR MIT
// `ordered` regions. The compiler does not say which iteration a region belongs to, so whole chunks take
// turns.
#include "ordered.h"

using namespace hadal::omp;
using namespace hadal::omp::gomp;

OMP_EXPORT void GOMP_ordered_start() {
    Member &me = self();
    if (me.size > 1 && me.workshare != nullptr) {
        ordered_await(me, me.chunk.begin);
    }
}

// The chunk may have more ordered regions, unless it is one iteration: then the turn can pass on at once.
OMP_EXPORT void GOMP_ordered_end() {
    Member &me = self();
    if (me.chunk.end - me.chunk.begin == 1) {
        ordered_leave(me);
    }
}
