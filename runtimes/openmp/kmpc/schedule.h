// SPDX-License-Identifier: Apache-2.0 OR MIT
// The compiler's numbers of schedules.
#ifndef HADAL_OMP_KMPC_SCHEDULE_H
#define HADAL_OMP_KMPC_SCHEDULE_H

#include <cstdint>
#include <type_traits>

#include "core/workshare.h"

namespace hadal::omp::kmpc {

enum KmpSchedule : int32_t {
    KMP_STATIC_CHUNKED = 33,
    KMP_STATIC = 34,
    KMP_DYNAMIC = 35,
    KMP_GUIDED = 36,
    KMP_RUNTIME = 37,
    KMP_AUTO = 38,
    KMP_TRAPEZOIDAL = 39,
    KMP_STATIC_GREEDY = 40,
    KMP_STATIC_BALANCED = 41,
    KMP_GUIDED_ITERATIVE = 42,
    KMP_GUIDED_ANALYTICAL = 43,
    KMP_STATIC_STEAL = 44,
    KMP_STATIC_BALANCED_CHUNKED = 45,
    KMP_GUIDED_SIMD = 46,
    KMP_RUNTIME_SIMD = 47,
    KMP_ORDERED_FIRST = 64, // from here on: the same, ordered
    KMP_ORDERED_LAST = 72,
    KMP_DISTRIBUTE_CHUNKED = 91,
    KMP_DISTRIBUTE = 92,
    KMP_NO_MERGE_FIRST = 160, // from here on: the same, each loop by itself
};
inline constexpr int32_t KMP_ORDERED_DISTANCE = 32, KMP_NO_MERGE_DISTANCE = 128;
inline constexpr int32_t KMP_MONOTONIC = 1 << 29, KMP_NONMONOTONIC = 1 << 30;

struct KmpScheduleParts {
    int32_t schedule; // without the rest
    bool is_ordered;
    bool is_nonmonotonic;
};

constexpr KmpScheduleParts parts_of(int32_t schedule) {
    KmpScheduleParts parts = {schedule & ~(KMP_MONOTONIC | KMP_NONMONOTONIC), false, false};
    parts.is_nonmonotonic = (schedule & KMP_NONMONOTONIC) != 0;
    if (parts.schedule >= KMP_NO_MERGE_FIRST) {
        parts.schedule -= KMP_NO_MERGE_DISTANCE;
    }
    if (parts.schedule >= KMP_ORDERED_FIRST && parts.schedule <= KMP_ORDERED_LAST) {
        parts.schedule -= KMP_ORDERED_DISTANCE;
        parts.is_ordered = true;
    }
    return parts;
}

// The last position of a loop from `lower` to `upper`, both included; false if it has none.
template <typename Value>
bool last_position(Value lower, Value upper, std::make_signed_t<Value> step,
                   std::make_unsigned_t<Value> *last) {
    using Unsigned = std::make_unsigned_t<Value>;
    if (step > 0) {
        Unsigned distance = static_cast<Unsigned>(upper) - static_cast<Unsigned>(lower);
        *last = step == 1 ? distance : distance / static_cast<Unsigned>(step);
        return lower <= upper;
    }
    Unsigned distance = static_cast<Unsigned>(lower) - static_cast<Unsigned>(upper);
    *last = step == -1 ? distance : distance / (Unsigned{0} - static_cast<Unsigned>(step));
    return lower >= upper;
}

} // namespace hadal::omp::kmpc

#endif
