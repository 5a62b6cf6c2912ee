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

// Which of `count` places, `first`, `first + step`, ..., lie from `low` to `high`: those with numbers from
// `begin` to `end`.
struct Clipped {
    uint64_t begin, end;
};

inline Clipped clip_run(int64_t first, int64_t step, uint64_t count, int64_t low, int64_t high) {
    if (step == 0) {
        return {0, low <= first && first < high ? count : 0};
    }
    // How many there are before the run comes to a place that is so far ahead.
    auto before = [=](int64_t ahead) {
        int64_t width = step < 0 ? -step : step;
        uint64_t places = ahead <= 0 ? 0 : static_cast<uint64_t>((ahead + width - 1) / width);
        return places < count ? places : count;
    };
    return step > 0 ? Clipped{before(low - first), before(high - first)}
                    : Clipped{before(first - high + 1), before(first - low + 1)};
}

} // namespace hadal::vcode

#endif
