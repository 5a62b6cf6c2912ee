// SPDX-License-Identifier: Apache-2.0 OR MIT
// What scans and reduces do with the elements of one block and segment.
#ifndef HADAL_VCODE_COMBINE_H
#define HADAL_VCODE_COMBINE_H

#include "operators.h"

namespace hadal::vcode {

// Combines neighbours. Long runs are combined in eight lanes, which processors do side by side; which they
// are depends on the length only.
template <typename O, typename T = typename O::Element> T combine(const T *values, uint64_t count) {
    constexpr uint64_t LANES = 8, LONG = 1024;
    T sum = O::identity();
    uint64_t index = 0;
    if (count >= LONG) {
        T lanes[LANES];
        for (T &lane : lanes) {
            lane = O::identity();
        }
        for (; index + LANES <= count; index += LANES) {
            for (uint64_t lane = 0; lane < LANES; lane++) {
                lanes[lane] = O::apply(lanes[lane], values[index + lane]);
            }
        }
        for (T lane : lanes) {
            sum = O::apply(sum, lane);
        }
    }
    for (; index < count; index++) {
        sum = O::apply(sum, values[index]);
    }
    return sum;
}

} // namespace hadal::vcode

#endif
