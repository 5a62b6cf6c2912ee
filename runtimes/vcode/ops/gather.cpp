// SPDX-License-Identifier: Apache-2.0 OR MIT
// BPERMUTE, BFPERMUTE and EXTRACT: elements by index.
#include "../core/ranges.h"
#include "operands.h"
#include "routines.h"
#include "runs.h"

namespace hadal::vcode {

namespace {

bool index_error(Machine &machine, const Cell &indices, uint64_t place, const Bounds &result,
                 const Bounds &source) {
    uint64_t segment = 0, high = result.segments;
    while (high - segment > 1) {
        uint64_t middle = segment + (high - segment) / 2;
        (result.start(middle) <= place ? segment : high) = middle;
    }
    // Of several segments that begin there all but the last are empty.
    return machine.error("index %d (element %llu of the indices) is not in its segment of %u elements",
                         elements<Int>(indices)[place], static_cast<unsigned long long>(place),
                         source.length(segment));
}

// By ranges of indices that all are right: runs of elements. False: they are not.
template <typename T>
bool gather_ranges(const Cell &indices, const Bounds &source, const Bounds &target, const T *values,
                   T *results) {
    Ranges ranges(indices);
    if (!ranges.index(target, source)) {
        return false;
    }
    const Bounds &bounds = ranges.bounds;
    for_blocks(bounds.items(), [&](uint64_t, uint64_t from, uint64_t to) {
        for_pieces(bounds, from, to, [&](uint64_t segment, uint64_t first, uint64_t last, bool) {
            if (first < last) {
                const T *run = values + ranges.target(segment, first - bounds.start(segment));
                read_run(run, ranges.step(segment), results + first, last - first);
            }
        });
    });
    return true;
}

// `flags`: BFPERMUTE.
template <typename T, bool flagged> bool routine_gather(Machine &machine, const Instruction &) {
    constexpr size_t count = flagged ? 5 : 4;
    if (!need(machine, count)) {
        return false;
    }
    Cell *operands = machine.top - count;
    Cell &vector = operands[0], &indices = operands[1];
    Cell &source = operands[count - 2], &target = operands[count - 1];
    if (!want(machine, vector, TypeOf<T>::value, "the vector") || !want_indices(machine, indices, !flagged) ||
        (flagged && !want(machine, operands[2], Type::Bool, "the flag vector")) ||
        !want(machine, source, Type::Segdes, "the descriptor of the source") ||
        !want(machine, target, Type::Segdes, "the descriptor of the result") ||
        !compatible(machine, vector, source) || !compatible(machine, indices, target) ||
        (flagged && !compatible(machine, operands[2], target)) || !pair_up(machine, source, target)) {
        return false;
    }
    Cell result;
    T *results = new_result<T>(machine, result, indices.length);
    if (results == nullptr) {
        return false;
    }
    Bounds from_bounds(source), to_bounds(target);
    const T *values = elements<T>(vector);
    if (!flagged && is_ranges(indices)) {
        if (gather_ranges(indices, from_bounds, to_bounds, values, results)) {
            return finish(machine, count, result);
        }
        if (!force(indices)) {
            release(result);
            return machine.out_of_memory();
        }
    }
    const Int *places = elements<Int>(indices);
    const Bool *flags = flagged ? elements<Bool>(operands[2]) : nullptr;
    Fault fault;
    for_blocks(to_bounds.items(), [&](uint64_t, uint64_t from, uint64_t to) {
        for_pieces(to_bounds, from, to, [&](uint64_t segment, uint64_t first, uint64_t last, bool) {
            const T *base = values + from_bounds.start(segment);
            uint32_t length = from_bounds.length(segment);
            for (uint64_t index = first; index < last; index++) {
                if (flagged && !flags[index]) {
                    results[index] = 0;
                    continue;
                }
                uint32_t place = static_cast<uint32_t>(places[index]);
                if (HRT_UNLIKELY(place >= length)) {
                    fault.at(index);
                    break;
                }
                results[index] = base[place];
            }
        });
    });
    if (fault.any()) {
        release(result);
        return index_error(machine, indices, fault.place, to_bounds, from_bounds);
    }
    return finish(machine, count, result);
}

template <typename T> bool routine_extract(Machine &machine, const Instruction &) {
    if (!need(machine, 3)) {
        return false;
    }
    Cell &vector = machine.top[-3], &indices = machine.top[-2], &descriptor = machine.top[-1];
    if (!want(machine, vector, TypeOf<T>::value, "the vector") ||
        !want(machine, indices, Type::Int, "the index vector") ||
        !want(machine, descriptor, Type::Segdes, "the descriptor") ||
        !compatible(machine, vector, descriptor) || !by_segment(machine, indices, descriptor)) {
        return false;
    }
    if (HRT_LIKELY(descriptor.length == 1)) {
        uint32_t place = static_cast<uint32_t>(indices.i);
        if (place >= vector.length) {
            return machine.error("index %d is not in a vector of %u elements", indices.i, vector.length);
        }
        Cell result;
        make_vector(result, TypeOf<T>::value, 1);
        *static_cast<T *>(data_of(result)) = elements<T>(vector)[place];
        return finish(machine, 3, result);
    }
    Cell result;
    T *results = new_result<T>(machine, result, descriptor.length);
    if (results == nullptr) {
        return false;
    }
    Bounds bounds(descriptor);
    const T *values = elements<T>(vector);
    const Int *places = elements<Int>(indices);
    Fault fault;
    for_blocks(descriptor.length, [&](uint64_t, uint64_t from, uint64_t to) {
        for (uint64_t segment = from; segment < to; segment++) {
            uint32_t place = static_cast<uint32_t>(places[segment]);
            if (HRT_UNLIKELY(place >= bounds.length(segment))) {
                return fault.at(segment);
            }
            results[segment] = values[bounds.start(segment) + place];
        }
    });
    if (fault.any()) {
        release(result);
        return machine.error("index %d for segment %llu, which has %u elements", places[fault.place],
                             static_cast<unsigned long long>(fault.place), bounds.length(fault.place));
    }
    return finish(machine, 3, result);
}

} // namespace

Routine gather_routine(Suffix suffix, bool flagged) {
    switch (suffix) {
    case Suffix::Int:
        return flagged ? routine_gather<Int, true> : routine_gather<Int, false>;
    case Suffix::Bool:
        return flagged ? routine_gather<Bool, true> : routine_gather<Bool, false>;
    default:
        return flagged ? routine_gather<Float, true> : routine_gather<Float, false>;
    }
}

Routine extract_routine(Suffix suffix) {
    return suffix == Suffix::Int    ? routine_extract<Int>
           : suffix == Suffix::Bool ? routine_extract<Bool>
                                    : routine_extract<Float>;
}

} // namespace hadal::vcode
