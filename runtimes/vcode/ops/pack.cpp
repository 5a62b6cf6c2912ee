// SPDX-License-Identifier: Apache-2.0 OR MIT
// PACK: the flagged elements and the descriptor of what remains of each segment.
#ifndef __clang__
#pragma GCC optimize("O3")
#endif

#include "operands.h"
#include "routines.h"
#include "segdes.h"

namespace hadal::vcode {

namespace {

// Flags are bytes of 0 and 1: eight of them are added at once, and the sums before a byte is full.
uint32_t count_flags(const Bool *flags, uint64_t count) {
    constexpr uint64_t WORDS = 255, EVEN = 0x00ff00ff00ff00ff, ONES = 0x0001000100010001;
    uint32_t sum = 0;
    uint64_t index = 0;
    while (count - index >= sizeof(uint64_t)) {
        uint64_t words = (count - index) / sizeof(uint64_t), bytes = 0;
        words = words < WORDS ? words : WORDS;
        for (uint64_t word = 0; word < words; word++) {
            uint64_t eight;
            memcpy(&eight, flags + index + word * sizeof eight, sizeof eight);
            bytes += eight;
        }
        sum += static_cast<uint32_t>(((bytes & EVEN) + (bytes >> 8 & EVEN)) * ONES >> 48);
        index += words * sizeof(uint64_t);
    }
    for (; index < count; index++) {
        sum += flags[index];
    }
    return sum;
}

// How many flags are set in a block: in all, and in the segments at its borders.
struct Counts {
    uint32_t all, head, tail;
    bool ended;
    uint64_t segment;
};

Counts count_block(const Bool *flags, Int *lengths, const Bounds &bounds, uint64_t from, uint64_t to) {
    Counts counts{0, 0, 0, false, 0};
    bool first_piece = true;
    for_pieces(bounds, from, to, [&](uint64_t segment, uint64_t first, uint64_t last, bool ends) {
        uint32_t sum = count_flags(flags + first, last - first);
        counts.all += sum;
        if (first_piece) {
            counts.head = sum;
            counts.segment = segment;
            counts.ended = ends;
        } else if (ends) {
            lengths[segment] = static_cast<Int>(sum);
        } else {
            counts.tail = sum;
        }
        first_piece = false;
    });
    return counts;
}

// Moves the flagged ones of up to BLOCK elements. They are gathered without a branch, one place too far at
// most.
template <typename T> void move_flagged(const T *values, const Bool *flags, T *results, uint64_t count) {
    T near[BLOCK + 1];
    uint64_t moved = 0;
    for (uint64_t index = 0; index < count; index++) {
        near[moved] = values[index];
        moved += flags[index];
    }
    memcpy(results, near, moved * sizeof(T));
}

template <typename T> bool routine_pack(Machine &machine, const Instruction &) {
    if (!need(machine, 3)) {
        return false;
    }
    Cell &vector = machine.top[-3], &flag_vector = machine.top[-2], &descriptor = machine.top[-1];
    if (!want(machine, vector, TypeOf<T>::value, "the vector") ||
        !want(machine, flag_vector, Type::Bool, "the flag vector") ||
        !want(machine, descriptor, Type::Segdes, "the descriptor") ||
        !compatible(machine, vector, descriptor) || !compatible(machine, flag_vector, descriptor)) {
        return false;
    }
    Bounds bounds(descriptor);
    uint64_t items = bounds.items(), blocks = block_count(items);
    const T *values = elements<T>(vector);
    const Bool *flags = elements<Bool>(flag_vector);
    Scratch<Counts> counts(blocks);
    if (!counts) {
        return machine.out_of_memory();
    }
    Cell length_cell;
    Int *lengths = new_result<Int>(machine, length_cell, descriptor.length);
    if (lengths == nullptr) {
        return false;
    }
    for_blocks(items, [&](uint64_t block, uint64_t from, uint64_t to) {
        counts[block] = count_block(flags, lengths, bounds, from, to);
    });
    // From counts to the place where each block's elements go.
    uint32_t total = 0, carry = 0;
    for (uint64_t block = 0; block < blocks; block++) {
        Counts &here = counts[block];
        carry += here.head;
        if (here.ended) {
            lengths[here.segment] = static_cast<Int>(carry);
            carry = here.tail;
        }
        uint32_t before = total;
        total += here.all;
        here.all = before;
    }
    Cell packed, made;
    T *results = new_result<T>(machine, packed, total);
    if (results == nullptr) {
        release(length_cell);
        return false;
    }
    if (!segments_from(machine, made, length_cell, total)) {
        release(packed);
        return false;
    }
    for_blocks(items, [&](uint64_t block, uint64_t from, uint64_t to) {
        uint64_t first = from, last = to;
        if (bounds.segments == 1) {
            last = last < bounds.total ? last : bounds.total;
        } else {
            first = from - segment_of_item(bounds, from);
            last = to == items ? bounds.total : to - segment_of_item(bounds, to);
        }
        if (first < last) {
            move_flagged(values + first, flags + first, results + counts[block].all, last - first);
        }
    });
    machine.drop(3);
    *machine.top++ = packed;
    *machine.top++ = made;
    return true;
}

} // namespace

Routine pack_routine(Suffix suffix) {
    return suffix == Suffix::Int    ? routine_pack<Int>
           : suffix == Suffix::Bool ? routine_pack<Bool>
                                    : routine_pack<Float>;
}

} // namespace hadal::vcode
