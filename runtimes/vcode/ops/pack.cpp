// SPDX-License-Identifier: Apache-2.0 OR MIT
// PACK: the flagged elements and the descriptor of what remains of each segment.
#ifndef __clang__
#pragma GCC optimize("O3")
#endif

#include "compress.h"
#include "operands.h"
#include "routines.h"
#include "segdes.h"

namespace hadal::vcode {

namespace {

uint64_t eight_flags(const Bool *flags) {
    uint64_t bytes;
    memcpy(&bytes, flags, sizeof bytes);
    return bytes;
}

// Flags are bytes of 0 and 1: eight of them are added at once, and the sums before a byte is full. The last
// ones of a piece are, too, if there are `readable` flags to the end of the vector: most pieces are short,
// and loops over them are not predicted.
uint32_t count_flags(const Bool *flags, uint64_t count, uint64_t readable) {
    constexpr uint64_t WORDS = 255, EVEN = 0x00ff00ff00ff00ff, ONES = 0x0001000100010001;
    constexpr uint64_t EACH = 0x0101010101010101;
    uint32_t sum = 0;
    uint64_t index = 0;
    while (count - index >= sizeof(uint64_t)) {
        uint64_t words = (count - index) / sizeof(uint64_t), bytes = 0;
        words = words < WORDS ? words : WORDS;
        for (uint64_t word = 0; word < words; word++) {
            bytes += eight_flags(flags + index + word * sizeof(uint64_t));
        }
        sum += static_cast<uint32_t>(((bytes & EVEN) + (bytes >> 8 & EVEN)) * ONES >> 48);
        index += words * sizeof(uint64_t);
    }
    if (uint64_t rest = count - index; rest != 0 && readable - index >= sizeof(uint64_t)) {
        uint64_t bytes = eight_flags(flags + index) << 8 * (sizeof(uint64_t) - rest);
        return sum + static_cast<uint32_t>(bytes * EACH >> 56);
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
        uint32_t sum = count_flags(flags + first, last - first, bounds.total - first);
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
            uint32_t place = counts[block].all;
            uint32_t behind = block + 1 < blocks ? counts[block + 1].all : total;
            compress(values + first, flags + first, last - first, results + place, behind - place);
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
