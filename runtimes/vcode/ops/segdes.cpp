// SPDX-License-Identifier: Apache-2.0 OR MIT
// MAKE_SEGDES, LENGTHS, LENGTH. A descriptor keeps its vector of lengths: LENGTHS only gives it away again.
#include "segdes.h"

#include "routines.h"

namespace hadal::vcode {

bool segments_from(Machine &machine, Cell &descriptor, const Cell &lengths, uint32_t total) {
    if (!make_segments(descriptor, lengths, total)) {
        return machine.out_of_memory();
    }
    if (!descriptor.in_block) {
        return true;
    }
    uint64_t count = descriptor.length;
    Int *offsets = static_cast<Int *>(descriptor.segments->block.data);
    const Int *values = elements<Int>(descriptor.segments->lengths);
    auto offsets_of = [=](uint64_t from, uint64_t to, Int sum) {
        for (uint64_t segment = from; segment < to; segment++) {
            offsets[segment] = sum;
            sum += values[segment];
        }
        offsets[to] = sum; // the next block stores the same
    };
    if (gang_for(count) < 2) {
        offsets_of(0, count, 0);
        return true;
    }
    Scratch<Int> sums(block_count(count));
    if (!sums) {
        release(descriptor);
        return machine.out_of_memory();
    }
    for_blocks(count, [&](uint64_t block, uint64_t from, uint64_t to) {
        Int sum = 0;
        for (uint64_t segment = from; segment < to; segment++) {
            sum += values[segment];
        }
        sums[block] = sum;
    });
    Int carry = 0;
    for (uint64_t block = 0; block < block_count(count); block++) {
        Int sum = sums[block];
        sums[block] = carry;
        carry += sum;
    }
    for_blocks(count, [&](uint64_t block, uint64_t from, uint64_t to) {
        Int sum = sums[block];
        for (uint64_t segment = from; segment < to; segment++) {
            offsets[segment] = sum;
            sum += values[segment];
        }
    });
    offsets[count] = carry;
    return true;
}

bool routine_make_segdes(Machine &machine, const Instruction &) {
    if (!need(machine, 1) || !want(machine, machine.top[-1], Type::Int, "the vector of lengths")) {
        return false;
    }
    Cell &vector = machine.top[-1];
    if (HRT_LIKELY(vector.head == INT1)) {
        if (vector.i < 0) {
            return machine.error("the length %d is negative", vector.i);
        }
        vector = segdes_cell(static_cast<uint32_t>(vector.i));
        return true;
    }
    const Int *lengths = elements<Int>(vector);
    Fault fault;
    uint64_t total = 0;
    for_blocks(vector.length, [&](uint64_t, uint64_t from, uint64_t to) {
        uint64_t sum = 0;
        uint32_t signs = 0;
        for (uint64_t segment = from; segment < to; segment++) {
            sum += static_cast<uint32_t>(lengths[segment]);
            signs |= static_cast<uint32_t>(lengths[segment]);
        }
        if (HRT_UNLIKELY(signs >> 31)) {
            while (lengths[from] >= 0) {
                from++;
            }
            return fault.at(from);
        }
        HRT_FETCH_ADD(&total, sum, HRT_RELAXED);
    });
    if (fault.any()) {
        return machine.error("the length %d of segment %llu is negative", lengths[fault.place],
                             static_cast<unsigned long long>(fault.place));
    }
    if (total > LENGTH_MAX) {
        return machine.error("the lengths add up to %llu elements; a vector has at most 2147483647",
                             static_cast<unsigned long long>(total));
    }
    Cell made;
    machine.top--;
    Cell given = *machine.top;
    if (!segments_from(machine, made, given, static_cast<uint32_t>(total))) {
        return false;
    }
    *machine.top++ = made;
    return true;
}

bool routine_lengths(Machine &machine, const Instruction &) {
    if (!need(machine, 1) || !want(machine, machine.top[-1], Type::Segdes, "the operand")) {
        return false;
    }
    Cell &descriptor = machine.top[-1];
    if (HRT_LIKELY(!descriptor.in_block)) {
        descriptor = int_cell(static_cast<Int>(descriptor.total));
        return true;
    }
    Cell lengths = descriptor.segments->lengths;
    retain(lengths);
    release(descriptor);
    descriptor = lengths;
    return true;
}

namespace {

template <Type type> bool routine_length(Machine &machine, const Instruction &) {
    if (!need(machine, 1)) {
        return false;
    }
    Cell &vector = machine.top[-1];
    if (vector.type != type) {
        return machine.error("the operand is %s, not %s", type_name(vector.type), type_name(type));
    }
    Cell length = int_cell(static_cast<Int>(vector.length));
    release(vector);
    vector = length;
    return true;
}

} // namespace

Routine length_routine(Suffix suffix) {
    return suffix == Suffix::Int    ? routine_length<Type::Int>
           : suffix == Suffix::Bool ? routine_length<Type::Bool>
                                    : routine_length<Type::Float>;
}

} // namespace hadal::vcode
