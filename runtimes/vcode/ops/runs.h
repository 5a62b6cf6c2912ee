// SPDX-License-Identifier: Apache-2.0 OR MIT
// Runs of elements at a distance of `step`: what gathers and scatters by ranges of indices move.
#ifndef HADAL_VCODE_RUNS_H
#define HADAL_VCODE_RUNS_H

#include "../core/cell.h"

namespace hadal::vcode {

inline constexpr uint64_t SHORT_RUN = 32; // up to this length a loop is faster than a call

template <typename T> void read_run(const T *values, int64_t step, T *results, uint64_t count) {
    if (step == 1 && count > SHORT_RUN) {
        memcpy(results, values, count * sizeof(T));
        return;
    }
    for (uint64_t index = 0; index < count; index++) {
        results[index] = values[static_cast<int64_t>(index) * step];
    }
}

template <typename T> void write_run(const T *values, T *results, int64_t step, uint64_t count) {
    if (step == 1 && count > SHORT_RUN) {
        memcpy(results, values, count * sizeof(T));
        return;
    }
    for (uint64_t index = 0; index < count; index++) {
        results[static_cast<int64_t>(index) * step] = values[index];
    }
}

} // namespace hadal::vcode

#endif
