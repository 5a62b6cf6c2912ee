// SPDX-License-Identifier: Apache-2.0 OR MIT
// DIST and INDEX: segments filled from one element each.
#ifndef __clang__
#pragma GCC optimize("O3")
#endif

#include "../core/ranges.h"
#include "elementwise.h"
#include "operands.h"
#include "routines.h"

namespace hadal::vcode {

namespace {

template <typename T> bool routine_dist(Machine &machine, const Instruction &) {
    if (!need(machine, 2)) {
        return false;
    }
    Cell &vector = machine.top[-2], &descriptor = machine.top[-1];
    if (!want(machine, vector, TypeOf<T>::value, "the vector") ||
        !want(machine, descriptor, Type::Segdes, "the descriptor") ||
        !by_segment(machine, vector, descriptor)) {
        return false;
    }
    Bounds bounds(descriptor);
    Cell result;
    if (bounds.segments == 1 && bounds.total >= LAZY_LENGTH) {
        return defer_constant(TypeOf<T>::value, vector.word, bounds.total, result)
                   ? finish(machine, 2, result)
                   : machine.out_of_memory();
    }
    T *results = new_result<T>(machine, result, bounds.total);
    if (results == nullptr) {
        return false;
    }
    const T *values = elements<T>(vector);
    for_blocks(bounds.items(), [&](uint64_t, uint64_t from, uint64_t to) {
        for_pieces(bounds, from, to, [&](uint64_t segment, uint64_t first, uint64_t last, bool) {
            T value = values[segment];
            for (uint64_t index = first; index < last; index++) {
                results[index] = value;
            }
        });
    });
    return finish(machine, 2, result);
}

} // namespace

bool routine_index(Machine &machine, const Instruction &) {
    if (!need(machine, 3)) {
        return false;
    }
    Cell &starts = machine.top[-3], &steps = machine.top[-2], &descriptor = machine.top[-1];
    if (!want(machine, starts, Type::Int, "the vector of starts") ||
        !want(machine, steps, Type::Int, "the vector of steps") ||
        !want(machine, descriptor, Type::Segdes, "the descriptor") ||
        !by_segment(machine, starts, descriptor) || !by_segment(machine, steps, descriptor)) {
        return false;
    }
    Bounds bounds(descriptor);
    Cell result;
    if (bounds.segments == 1 && bounds.total >= LAZY_LENGTH) {
        return defer_index(starts.i, steps.i, bounds.total, result) ? finish(machine, 3, result)
                                                                    : machine.out_of_memory();
    }
    if (bounds.total >= LAZY_LENGTH) {
        if (!defer_ranges(starts, steps, descriptor, result)) {
            return machine.out_of_memory();
        }
        machine.top -= 3; // the result has them
        *machine.top++ = result;
        return true;
    }
    Int *results = new_result<Int>(machine, result, bounds.total);
    if (results == nullptr) {
        return false;
    }
    Ranges(starts, steps, descriptor).write(results, 0, bounds.total);
    return finish(machine, 3, result);
}

Routine dist_routine(Suffix suffix) {
    return suffix == Suffix::Int    ? routine_dist<Int>
           : suffix == Suffix::Bool ? routine_dist<Bool>
                                    : routine_dist<Float>;
}

} // namespace hadal::vcode
