// SPDX-License-Identifier: Apache-2.0 OR MIT
// schedule(guided): each chunk is a part of what is left, as many parts as there are members.
#ifndef HADAL_OMP_GUIDED_H
#define HADAL_OMP_GUIDED_H

#include "team.h"

namespace hadal::omp {

// The next chunk of a guided loop that so many members share, a multiple of a unit unless it is the last;
// false when there is none.
inline bool guided_next(Workshare &workshare, uint32_t members, uint64_t unit, Chunk *chunk) {
    const Loop &loop = workshare.loop;
    uint64_t begin = HRT_LOAD(&workshare.next, HRT_RELAXED), end;
    do {
        if (begin >= loop.trips) {
            return false;
        }
        uint64_t left = loop.trips - begin, part = (left - 1) / members + 1;
        part = part > loop.chunk ? part : loop.chunk;
        if (HRT_UNLIKELY(unit > 1) && part % unit != 0) {
            part += unit - part % unit;
        }
        end = begin + (part < left ? part : left);
    } while (HRT_UNLIKELY(!HRT_CAS(&workshare.next, &begin, end, HRT_RELAXED)));
    *chunk = {begin, end};
    return true;
}

} // namespace hadal::omp

#endif
