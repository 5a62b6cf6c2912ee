// SPDX-License-Identifier: Apache-2.0 OR MIT
// Segmented exclusive scans: in one pass, or in two over the blocks when the gang shares them.
#ifndef __clang__
#pragma GCC optimize("O3")
#endif

#include "combine.h"
#include "operands.h"
#include "routines.h"

namespace hadal::vcode {

namespace {

// What a block adds to the segment that goes on behind it.
template <typename T> struct Tail {
    T value;
    bool ended; // a segment ended in the block: what came before it does not matter
};

template <typename O, typename T = typename O::Element>
Tail<T> tail_of(const T *values, const Bounds &bounds, uint64_t from, uint64_t to) {
    Tail<T> tail{O::identity(), false};
    for_pieces(bounds, from, to, [&](uint64_t, uint64_t first, uint64_t last, bool ends) {
        tail.value = ends ? O::identity() : combine<O>(values + first, last - first);
        tail.ended |= ends;
    });
    return tail;
}

// Scans a block. `carry` combines what its first segment has before the block; the result is the same for the
// block behind it. Where it matters, that is computed as tail_of() does it, whoever scans.
template <typename O, typename T = typename O::Element>
T scan_block(const T *values, T *result, const Bounds &bounds, uint64_t from, uint64_t to, T carry) {
    T sum = carry, tail = O::identity();
    bool ended = false;
    for_pieces(bounds, from, to, [&](uint64_t, uint64_t first, uint64_t last, bool ends) {
        if (!EXACT<T> && !ends) {
            tail = combine<O>(values + first, last - first);
        }
        for (uint64_t index = first; index < last; index++) {
            T value = values[index];
            result[index] = sum;
            sum = O::apply(sum, value);
        }
        if (ends) {
            ended = true;
            sum = tail = O::identity();
        }
    });
    return EXACT<T> ? sum : ended ? tail : O::apply(carry, tail);
}

template <typename O> bool routine_scan(Machine &machine, const Instruction &) {
    using T = typename O::Element;
    if (!need(machine, 2)) {
        return false;
    }
    Cell &vector = machine.top[-2], &descriptor = machine.top[-1];
    if (!want(machine, vector, TypeOf<T>::value, "the vector") ||
        !want(machine, descriptor, Type::Segdes, "the descriptor") ||
        !compatible(machine, vector, descriptor)) {
        return false;
    }
    Bounds bounds(descriptor);
    uint64_t items = bounds.items();
    const T *values = elements<T>(vector);
    Cell result = vector;
    if (only_here(vector)) {
        retain(result);
    } else if (!new_result<T>(machine, result, vector.length)) {
        return false;
    }
    T *results = static_cast<T *>(data_of(result));
    bool shared = gang_for(items) > 1;
    Scratch<Tail<T>> tails(shared ? block_count(items) : 0);
    if (!tails) {
        release(result);
        return machine.out_of_memory();
    }
    T carry = O::identity();
    if (!shared) {
        for (uint64_t from = 0; from < items; from += BLOCK) {
            uint64_t to = from + BLOCK < items ? from + BLOCK : items;
            carry = scan_block<O>(values, results, bounds, from, to, carry);
        }
        return finish(machine, 2, result);
    }
    for_blocks(items, [&](uint64_t block, uint64_t from, uint64_t to) {
        tails[block] = tail_of<O>(values, bounds, from, to);
    });
    for (uint64_t block = 0; block < block_count(items); block++) {
        Tail<T> tail = tails[block];
        tails[block].value = carry;
        carry = tail.ended ? tail.value : O::apply(carry, tail.value);
    }
    for_blocks(items, [&](uint64_t block, uint64_t from, uint64_t to) {
        scan_block<O>(values, results, bounds, from, to, tails[block].value);
    });
    return finish(machine, 2, result);
}

} // namespace

Routine scan_routine(const char *name, Suffix suffix) {
#define X(part, type, O)                                                                                     \
    if (suffix == Suffix::type && strcmp(name, part "_SCAN") == 0) {                                         \
        return routine_scan<O>;                                                                              \
    }
    VCODE_OPERATORS(X)
#undef X
    return nullptr;
}

} // namespace hadal::vcode
