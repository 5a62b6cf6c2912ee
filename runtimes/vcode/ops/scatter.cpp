// SPDX-License-Identifier: Apache-2.0 OR MIT
// PERMUTE, DPERMUTE, FPERMUTE, DFPERMUTE and REPLACE: elements to places by index.
//
// Who shares a scatter has a part of the result and stores there what belongs there, in the order of the
// source: so of several elements for one place the last one wins, whatever the number of CPUs, and without
// atomic operations. Segments lie in the result as in the source: a part has to look at those only that it
// has.
#include "../core/ranges.h"
#include "operands.h"
#include "routines.h"
#include "runs.h"

namespace hadal::vcode {

namespace {

enum class Kind { Permute, Default, Flagged, DefaultFlagged };

template <typename T> struct Scatter {
    const T *values;
    const Int *places;
    const Bool *flags;
    T *results;
    uint8_t *taken; // PERMUTE: which places have an element
};

// Stores what belongs to the results from `low` to `high`. Wrong indices are told by whoever has the
// segment's first place, or the end of an empty one.
template <typename T, bool flagged>
void scatter_part(const Scatter<T> &scatter, const Bounds &source, const Bounds &target, uint64_t low,
                  uint64_t high, Fault &fault, Fault &twice) {
    if (scatter.taken != nullptr) {
        memset(scatter.taken + low, 0, high - low);
    }
    uint64_t segment = 0, above = target.segments;
    while (above - segment > 1) {
        uint64_t middle = segment + (above - segment) / 2;
        (target.start(middle) < low ? segment : above) = middle;
    }
    for (; segment < target.segments && target.start(segment) <= high; segment++) {
        uint64_t start = target.start(segment);
        uint32_t length = target.length(segment);
        for (uint64_t index = source.start(segment), end = source.end(segment); index < end; index++) {
            if (flagged && !scatter.flags[index]) {
                continue;
            }
            uint32_t place = static_cast<uint32_t>(scatter.places[index]);
            if (HRT_UNLIKELY(place >= length)) {
                fault.at(index);
                return;
            }
            uint64_t at = start + place;
            if (at - low < high - low) {
                if (scatter.taken != nullptr) {
                    if (HRT_UNLIKELY(scatter.taken[at])) {
                        return twice.at(index);
                    }
                    scatter.taken[at] = 1;
                }
                scatter.results[at] = scatter.values[index];
            }
        }
    }
}

// Few parts: all of them read the indices of the segments that they share.
constexpr uint64_t PARTS_MAX = 16;

template <typename T, bool flagged>
void scatter_all(const Scatter<T> &scatter, const Bounds &source, const Bounds &target, Fault &fault,
                 Fault &twice) {
    uint64_t parts = gang_for(source.items() + target.items());
    parts = parts < PARTS_MAX ? parts : PARTS_MAX;
    if (parts < 2) {
        return scatter_part<T, flagged>(scatter, source, target, 0, target.total, fault, twice);
    }
    uint64_t total = target.total;
    share(parts, total, [&](uint64_t part) {
        scatter_part<T, flagged>(scatter, source, target, total * part / parts, total * (part + 1) / parts,
                                 fault, twice);
    });
}

// Runs this long on average are worth a division for each member that looks for its part of them.
constexpr uint64_t SHARED_RUN = 16;

// Runs that may meet: in their order, by whoever has the part of the result where they meet.
template <typename T> void store_meeting(const Ranges &ranges, const T *values, T *results, uint64_t total) {
    const Bounds &bounds = ranges.bounds;
    uint64_t parts = bounds.total >= SHARED_RUN * bounds.segments ? gang_for(bounds.items()) : 1;
    parts = parts < PARTS_MAX ? parts : PARTS_MAX;
    share(parts, bounds.items(), [&](uint64_t part) {
        int64_t low = static_cast<int64_t>(total * part / parts);
        int64_t high = static_cast<int64_t>(total * (part + 1) / parts);
        for (uint64_t segment = 0; segment < bounds.segments; segment++) {
            uint64_t length = bounds.length(segment);
            if (length == 0) {
                continue;
            }
            int64_t first = static_cast<int64_t>(ranges.target(segment, 0)), step = ranges.step(segment);
            Clipped own = clip_run(first, step, length, low, high);
            if (own.begin < own.end) {
                write_run(values + bounds.start(segment) + own.begin,
                          results + first + static_cast<int64_t>(own.begin) * step, step,
                          own.end - own.begin);
            }
        }
    });
}

// By ranges of indices that all are right: runs of elements. Those that may meet are stored in their order.
// False: some are not right, or meet and must not.
template <typename T>
bool scatter_ranges(const Cell &indices, const Bounds &source, const Bounds &target, const T *values,
                    T *results, bool may_meet) {
    Ranges ranges(indices);
    if (!ranges.index(source, target)) {
        return false;
    }
    if (!ranges.apart()) {
        if (may_meet) {
            store_meeting(ranges, values, results, target.total);
        }
        return may_meet;
    }
    const Bounds &bounds = ranges.bounds;
    for_blocks(bounds.items(), [&](uint64_t, uint64_t from, uint64_t to) {
        for_pieces(bounds, from, to, [&](uint64_t segment, uint64_t first, uint64_t last, bool) {
            if (first < last) {
                T *run = results + ranges.target(segment, first - bounds.start(segment));
                write_run(values + first, run, ranges.step(segment), last - first);
            }
        });
    });
    return true;
}

bool scatter_error(Machine &machine, const Int *places, const Fault &fault, const Fault &twice) {
    if (fault.place < twice.place) {
        return machine.error("index %d (element %llu of the indices) is not in its segment of the result",
                             places[fault.place], static_cast<unsigned long long>(fault.place));
    }
    return machine.error("index %d (element %llu of the indices) occurs twice: not a permutation",
                         places[twice.place], static_cast<unsigned long long>(twice.place));
}

template <typename T, Kind kind> bool routine_scatter(Machine &machine, const Instruction &) {
    constexpr bool flagged = kind == Kind::Flagged || kind == Kind::DefaultFlagged;
    constexpr bool with_default = kind == Kind::Default || kind == Kind::DefaultFlagged;
    constexpr size_t count = kind == Kind::Permute ? 3 : 4 + flagged * 1 + with_default * 1;
    if (!need(machine, count)) {
        return false;
    }
    Cell *operands = machine.top - count;
    Cell &vector = operands[0], &indices = operands[1];
    Cell &target = operands[count - 1], &source = kind == Kind::Permute ? target : operands[count - 2];
    Cell *flags = flagged ? &operands[2] : nullptr, *old = with_default ? &operands[2 + flagged] : nullptr;
    if (!want(machine, vector, TypeOf<T>::value, "the vector") || !want_indices(machine, indices, !flagged) ||
        (flagged && !want(machine, *flags, Type::Bool, "the flag vector")) ||
        (with_default && !want(machine, *old, TypeOf<T>::value, "the default vector")) ||
        !want(machine, source, Type::Segdes, "the descriptor of the source") ||
        !want(machine, target, Type::Segdes, "the descriptor of the result") ||
        !compatible(machine, vector, source) || !compatible(machine, indices, source) ||
        (flagged && !compatible(machine, *flags, source)) ||
        (with_default && !compatible(machine, *old, target)) || !pair_up(machine, source, target)) {
        return false;
    }
    Bounds from_bounds(source), to_bounds(target);
    Cell result;
    if (with_default && only_here(*old)) {
        result = *old;
        retain(result);
    } else if (new_result<T>(machine, result, to_bounds.total) == nullptr) {
        return false;
    } else if (with_default) {
        const T *from = elements<T>(*old);
        T *to = static_cast<T *>(data_of(result));
        for_blocks(result.length, [=](uint64_t, uint64_t first, uint64_t last) {
            memcpy(to + first, from + first, (last - first) * sizeof(T));
        });
    } else if (flagged) {
        T *to = static_cast<T *>(data_of(result));
        for_blocks(result.length, [=](uint64_t, uint64_t first, uint64_t last) {
            memset(to + first, 0, (last - first) * sizeof(T));
        });
    }
    if (!flagged && is_ranges(indices)) {
        // In PERMUTE they are as many as there are places: if they differ, none is left.
        if (scatter_ranges(indices, from_bounds, to_bounds, elements<T>(vector),
                           static_cast<T *>(data_of(result)), kind != Kind::Permute)) {
            return finish(machine, count, result);
        }
        if (!force(indices)) {
            release(result);
            return machine.out_of_memory();
        }
    }
    Scratch<uint8_t> taken(kind == Kind::Permute ? to_bounds.total : 0);
    if (!taken) {
        release(result);
        return machine.out_of_memory();
    }
    Scatter<T> scatter{elements<T>(vector), elements<Int>(indices),
                       flagged ? elements<Bool>(*flags) : nullptr, static_cast<T *>(data_of(result)),
                       kind == Kind::Permute ? taken.get() : nullptr};
    Fault fault, twice;
    scatter_all<T, flagged>(scatter, from_bounds, to_bounds, fault, twice);
    if (fault.any() || twice.any()) {
        release(result);
        return scatter_error(machine, scatter.places, fault, twice);
    }
    return finish(machine, count, result);
}

template <typename T> bool routine_replace(Machine &machine, const Instruction &) {
    if (!need(machine, 4)) {
        return false;
    }
    Cell &vector = machine.top[-4], &indices = machine.top[-3], &values = machine.top[-2],
         &descriptor = machine.top[-1];
    if (!want(machine, vector, TypeOf<T>::value, "the vector") ||
        !want(machine, indices, Type::Int, "the index vector") ||
        !want(machine, values, TypeOf<T>::value, "the vector of new values") ||
        !want(machine, descriptor, Type::Segdes, "the descriptor") ||
        !compatible(machine, vector, descriptor) || !by_segment(machine, indices, descriptor) ||
        !by_segment(machine, values, descriptor)) {
        return false;
    }
    Bounds bounds(descriptor);
    const Int *places = elements<Int>(indices);
    const T *news = elements<T>(values);
    Fault fault;
    for_blocks(bounds.segments, [&](uint64_t, uint64_t first, uint64_t last) {
        for (uint64_t segment = first; segment < last; segment++) {
            if (HRT_UNLIKELY(static_cast<uint32_t>(places[segment]) >= bounds.length(segment))) {
                return fault.at(segment);
            }
        }
    });
    if (fault.any()) {
        return machine.error("index %d for segment %llu, which has %u elements", places[fault.place],
                             static_cast<unsigned long long>(fault.place), bounds.length(fault.place));
    }
    Cell result = vector;
    if (only_here(vector)) {
        retain(result);
    } else {
        T *to = new_result<T>(machine, result, vector.length);
        if (to == nullptr) {
            return false;
        }
        const T *from = elements<T>(vector);
        for_blocks(result.length, [=](uint64_t, uint64_t first, uint64_t last) {
            memcpy(to + first, from + first, (last - first) * sizeof(T));
        });
    }
    T *results = static_cast<T *>(data_of(result));
    for_blocks(bounds.segments, [&](uint64_t, uint64_t first, uint64_t last) {
        for (uint64_t segment = first; segment < last; segment++) {
            results[bounds.start(segment) + static_cast<uint32_t>(places[segment])] = news[segment];
        }
    });
    return finish(machine, 4, result);
}

template <typename T> Routine scatter_of(const char *name) {
    return strcmp(name, "PERMUTE") == 0    ? routine_scatter<T, Kind::Permute>
           : strcmp(name, "DPERMUTE") == 0 ? routine_scatter<T, Kind::Default>
           : strcmp(name, "FPERMUTE") == 0 ? routine_scatter<T, Kind::Flagged>
           : strcmp(name, "REPLACE") == 0  ? routine_replace<T>
                                           : routine_scatter<T, Kind::DefaultFlagged>;
}

} // namespace

Routine scatter_routine(const char *name, Suffix suffix) {
    return suffix == Suffix::Int    ? scatter_of<Int>(name)
           : suffix == Suffix::Bool ? scatter_of<Bool>(name)
                                    : scatter_of<Float>(name);
}

} // namespace hadal::vcode
