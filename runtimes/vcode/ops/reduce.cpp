// SPDX-License-Identifier: Apache-2.0 OR MIT
// Segmented reduces: each block combines its parts of segments, and the parts are combined in their order.
#ifndef __clang__
#pragma GCC optimize("O3")
#endif

#include "../core/plan.h"
#include "combine.h"
#include "operands.h"
#include "routines.h"

namespace hadal::vcode {

namespace {

// The parts of segments at the borders of a block; those inside have their result.
template <typename T> struct Borders {
    T head; // of the segment that the block begins in
    T tail; // of the one that goes on behind it, if another one ended in the block
    uint64_t segment;
    bool ended; // the first one ends here
};

template <typename O, typename T = typename O::Element>
Borders<T> reduce_block(const T *values, T *results, const Bounds &bounds, uint64_t from, uint64_t to) {
    Borders<T> borders{O::identity(), O::identity(), 0, false};
    bool first_piece = true;
    for_pieces(bounds, from, to, [&](uint64_t segment, uint64_t first, uint64_t last, bool ends) {
        T sum = combine<O>(values + first, last - first);
        if (first_piece) {
            borders.head = sum;
            borders.segment = segment;
            borders.ended = ends;
        } else if (ends) {
            results[segment] = sum;
        } else {
            borders.tail = sum;
        }
        first_piece = false;
    });
    return borders;
}

// Adds a block's borders to what came before.
template <typename O, typename T = typename O::Element>
void join(T &carry, const Borders<T> &borders, T *results) {
    carry = O::apply(carry, borders.head);
    if (borders.ended) {
        results[borders.segment] = carry;
        carry = borders.tail;
    }
}

// A vector that nobody else needs is not written to memory: each block of it is combined as it is computed,
// as it would be from memory.
template <typename O> bool reduce_pending(Machine &machine, Cell &vector) {
    using T = typename O::Element;
    uint64_t length = vector.length, items = length + 1; // the end of the segment is an item, too
    Scratch<T> parts(block_count(items));
    Plan plan;
    if (!parts || !strips_ready(block_count(items) * BLOCK) || !plan.make(vector, false)) {
        return machine.out_of_memory();
    }
    for_blocks_by_member(items, [&](uint64_t block, uint64_t from, uint64_t to, uint32_t member) {
        to = to < length ? to : length;
        parts[block] = combine<O>(static_cast<const T *>(plan.run(member, from, to)), to - from);
    });
    plan.finish();
    T sum = O::identity();
    for (uint64_t block = 0; block < block_count(items); block++) {
        sum = O::apply(sum, parts[block]);
    }
    Cell result;
    make_vector(result, TypeOf<T>::value, 1);
    *static_cast<T *>(data_of(result)) = sum;
    return finish(machine, 2, result);
}

template <typename O> bool routine_reduce(Machine &machine, const Instruction &) {
    using T = typename O::Element;
    if (!need(machine, 2)) {
        return false;
    }
    Cell &vector = machine.top[-2], &descriptor = machine.top[-1];
    if (vector.type == TypeOf<T>::value && is_pending(vector) && only_here(vector) &&
        descriptor.head == SEGDES1 && descriptor.total == vector.length) {
        return reduce_pending<O>(machine, vector);
    }
    if (!want(machine, vector, TypeOf<T>::value, "the vector") ||
        !want(machine, descriptor, Type::Segdes, "the descriptor") ||
        !compatible(machine, vector, descriptor)) {
        return false;
    }
    Bounds bounds(descriptor);
    uint64_t items = bounds.items();
    const T *values = elements<T>(vector);
    bool shared = gang_for(items) > 1;
    Scratch<Borders<T>> borders(shared ? block_count(items) : 0);
    if (!borders) {
        return machine.out_of_memory();
    }
    Cell result;
    if (!new_result<T>(machine, result, descriptor.length)) {
        return false;
    }
    T *results = static_cast<T *>(data_of(result)), carry = O::identity();
    if (shared) {
        for_blocks(items, [&](uint64_t block, uint64_t from, uint64_t to) {
            borders[block] = reduce_block<O>(values, results, bounds, from, to);
        });
        for (uint64_t block = 0; block < block_count(items); block++) {
            join<O>(carry, borders[block], results);
        }
    } else {
        for (uint64_t from = 0; from < items; from += BLOCK) {
            uint64_t to = from + BLOCK < items ? from + BLOCK : items;
            join<O>(carry, reduce_block<O>(values, results, bounds, from, to), results);
        }
    }
    return finish(machine, 2, result);
}

} // namespace

Routine reduce_routine(const char *name, Suffix suffix) {
#define X(part, type, O)                                                                                     \
    if (suffix == Suffix::type && strcmp(name, part "_REDUCE") == 0) {                                       \
        return routine_reduce<O>;                                                                            \
    }
    VCODE_OPERATORS(X)
#undef X
    return nullptr;
}

} // namespace hadal::vcode
