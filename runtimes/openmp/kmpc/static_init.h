// SPDX-License-Identifier: Apache-2.0 OR MIT
// How static schedules deal out iterations, for loops of any type.
#ifndef HADAL_OMP_KMPC_STATIC_INIT_H
#define HADAL_OMP_KMPC_STATIC_INIT_H

#include "core/team.h"
#include "schedule.h"

namespace hadal::omp::kmpc {

// A loop as the compiler describes it: what it has, and what it gets.
template <typename Value> struct StaticLoop {
    using Signed = std::make_signed_t<Value>;
    using Unsigned = std::make_unsigned_t<Value>;

    int32_t *is_last; // may be null
    Value *lower, *upper;
    Signed *stride; // to the next chunk; may be null
    Signed step, chunk;

    void set(Unsigned first, Unsigned last, bool has_end) {
        Unsigned base = static_cast<Unsigned>(*lower), by = static_cast<Unsigned>(step);
        *lower = static_cast<Value>(base + first * by);
        *upper = static_cast<Value>(base + last * by);
        set_last(has_end);
    }
    // Bounds between which there is nothing, whatever the caller cuts off behind the end of its loop.
    void set_empty() {
        *lower = step > 0 ? 1 : 0;
        *upper = step > 0 ? 0 : 1;
        set_last(false);
    }
    void set_last(bool has_end) {
        if (is_last != nullptr) {
            *is_last = has_end;
        }
    }
    void set_stride(Unsigned distance) {
        if (stride != nullptr) {
            *stride = static_cast<Signed>(distance);
        }
    }
};

// A block for each: sizes differ by one at most, the larger ones come first. Compilers do the same by
// themselves elsewhere, and programs rely on equal loops being dealt out equally. `last`: of positions, whose
// number may not fit.
template <typename Value, typename Unsigned = std::make_unsigned_t<Value>>
void deal_blocks(StaticLoop<Value> &loop, Unsigned last, uint32_t members, uint32_t number) {
    Unsigned quotient, rest;
    if (sizeof(Unsigned) == 4 || last <= UINT32_MAX) {
        // The division of large numbers takes several times as long.
        quotient = static_cast<uint32_t>(last) / members;
        rest = static_cast<uint32_t>(last) % members;
    } else {
        quotient = last / members;
        rest = last % members;
    }
    loop.set_stride(last + 1);
    Unsigned begin = quotient * number;
    if (number <= rest) {
        begin += number;
        loop.set(begin, begin + quotient, begin + quotient == last);
    } else if (quotient != 0) {
        begin += rest + 1;
        loop.set(begin, begin + (quotient - 1), begin + (quotient - 1) == last);
    } else {
        loop.set_empty();
    }
}

// Chunks in turn.
template <typename Value, typename Unsigned = std::make_unsigned_t<Value>>
void deal_chunks(StaticLoop<Value> &loop, Unsigned last, uint32_t members, uint32_t number) {
    Unsigned chunk = loop.chunk < 1 ? 1 : static_cast<Unsigned>(loop.chunk);
    Unsigned last_chunk = last / chunk, step = static_cast<Unsigned>(loop.step);
    if (number > last_chunk) {
        loop.set_stride(step);
        loop.set_empty();
        return;
    }
    Unsigned first = chunk * number;
    Unsigned end = last - first < chunk ? last : first + (chunk - 1);
    // Without a second chunk, to right behind the end of the loop: further steps may leave the type.
    bool has_second = last_chunk - number >= members;
    loop.set_stride(has_second ? chunk * members * step : (last - first + 1) * step);
    loop.set(first, end, number == last_chunk % members);
}

// Blocks that are multiples of a chunk.
template <typename Value, typename Unsigned = std::make_unsigned_t<Value>>
void deal_balanced(StaticLoop<Value> &loop, Unsigned last, uint32_t members, uint32_t number) {
    Unsigned chunk = loop.chunk < 1 ? 1 : static_cast<Unsigned>(loop.chunk);
    // In chunks, of which the last one may be smaller.
    Unsigned block = (last / chunk) / members + 1;
    loop.set_stride(last + 1);
    if (number > (last / chunk) / block) {
        loop.set_empty();
        return;
    }
    Unsigned first = block * number * chunk;
    // As far as there are positions; a block may be larger than what its type can count.
    Unsigned chunks_left = (last - first) / chunk;
    Unsigned end = chunks_left < block ? last : first + (block * chunk - 1);
    loop.set(first, end, end == last);
}

// Deals out a loop to `members`, of which the caller is `number`.
template <typename Value>
void deal(StaticLoop<Value> loop, int32_t schedule, uint32_t members, uint32_t number) {
    typename StaticLoop<Value>::Unsigned last;
    if (__builtin_expect(!last_position(*loop.lower, *loop.upper, loop.step, &last), false)) {
        loop.set_last(false);
        loop.set_stride(static_cast<typename StaticLoop<Value>::Unsigned>(loop.step));
        return;
    }
    switch (schedule) {
    case KMP_STATIC:
    case KMP_STATIC_BALANCED:
    case KMP_DISTRIBUTE:
    case KMP_AUTO:
        deal_blocks(loop, last, members, number);
        return;
    case KMP_STATIC_CHUNKED:
    case KMP_STATIC_GREEDY:
    case KMP_DISTRIBUTE_CHUNKED:
        deal_chunks(loop, last, members, number);
        return;
    case KMP_STATIC_BALANCED_CHUNKED:
        deal_balanced(loop, last, members, number);
        return;
    default:
        fatal("static_init: %d is no static schedule", schedule);
    }
}

} // namespace hadal::omp::kmpc

#endif
