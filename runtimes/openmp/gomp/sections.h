// SPDX-License-Identifier: Apache-2.0 OR MIT
// Sections as a loop.
#ifndef HADAL_OMP_GOMP_SECTIONS_H
#define HADAL_OMP_GOMP_SECTIONS_H

#include "gomp.h"

namespace hadal::omp::gomp {

inline Loop sections_of(unsigned count) {
    Loop loop;
    loop.trips = count;
    return loop;
}

inline unsigned next_section(Member &me) {
    Chunk chunk;
    return loop_next(me, &chunk) ? static_cast<unsigned>(chunk.begin) + 1 : 0;
}

} // namespace hadal::omp::gomp

#endif
