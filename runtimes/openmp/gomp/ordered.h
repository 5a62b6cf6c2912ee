// SPDX-License-Identifier: Apache-2.0 OR MIT
// The turns of chunks in loops with ordered regions.
#ifndef HADAL_OMP_GOMP_ORDERED_H
#define HADAL_OMP_GOMP_ORDERED_H

#include "gomp.h"

namespace hadal::omp::gomp {

// The member is done with its chunk: the turn is the next chunk's.
inline void ordered_leave(Member &me) {
    Chunk chunk = me.chunk;
    if (chunk.begin != chunk.end) {
        ordered_pass(me, chunk.begin, chunk.end);
        me.chunk = {0, 0};
    }
}

} // namespace hadal::omp::gomp

#endif
