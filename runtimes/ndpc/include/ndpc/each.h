// SPDX-License-Identifier: Apache-2.0 OR MIT
// Apply-to-each: a sequence of what a body gives for each index, and filters by count, scan and move.
#ifndef NDPC_EACH_H
#define NDPC_EACH_H

#include "reduce.h"
#include "seq.h"

namespace ndpc {

// result[i] by body(i, result[i]).
template <Size size = Size::any, class T, class Body>
int each(Seq<T> &result, std::int64_t count, const Site &site, const Body &body) {
    Seq<T> made;
    NDPC_TRY(Seq<T>::make(made, count, site));
    T *to = made.data();
    NDPC_TRY(each_element<size>(count, [&](std::int64_t i) -> int { return body(i, to[i]); }));
    result = std::move(made);
    return done;
}

// The same for the run-time's own sequences, with bodies of a few instructions.
template <class T, class Body>
int fill(Seq<T> &result, std::int64_t count, const Site &site, const Body &body) {
    Seq<T> made;
    NDPC_TRY(Seq<T>::make(made, count, site));
    T *to = made.data();
    NDPC_TRY(each_index<Size::small>(count, [&](std::int64_t i) -> int { return body(i, to[i]); }));
    result = std::move(made);
    return done;
}

// One element after another.
template <class T, class Body>
int each_serial(Seq<T> &result, std::int64_t count, const Site &site, const Body &body) {
    Seq<T> made;
    NDPC_TRY(Seq<T>::make(made, count, site));
    for (std::int64_t i = 0; i < count; i++) {
        NDPC_TRY(body(i, made.data()[i]));
    }
    result = std::move(made);
    return done;
}

constexpr std::int64_t filter_block = 2048;

// Filters elements `begin` to `end` and gives how many it has kept. Items that are not kept are written over:
// that costs less than a branch which nobody can predict.
template <class T, class Keep, class Body>
std::int64_t filter_block_into(T *items, std::int64_t begin, std::int64_t end, const Keep &keep,
                               const Body &body) {
    T *to = items;
    for (std::int64_t i = begin; i < end; i++) {
        if constexpr (std::is_trivially_copyable_v<T>) {
            body(i, *to);
            to += keep(i) ? 1 : 0;
        } else if (keep(i)) {
            body(i, *to++);
        }
    }
    return to - items;
}

// A filter by one worker, in one pass.
template <class T, class Keep, class Body>
int filter_serial(Seq<T> &result, std::int64_t count, const Site &site, const Keep &keep, const Body &body) {
    Seq<T> made;
    NDPC_TRY(Seq<T>::make(made, count, site));
    std::int64_t kept = filter_block_into(made.data(), 0, count, keep, body);
    if (kept >= count / 2) {
        made.shorten(kept);
        result = std::move(made);
        return done;
    }
    // Too much room to keep.
    Seq<T> fitting;
    NDPC_TRY(Seq<T>::make(fitting, kept, site));
    for (std::int64_t i = 0; i < kept; i++) {
        fitting.data()[i] = std::move(made.data()[i]);
    }
    result = std::move(fitting);
    return done;
}

// So many elements one worker filters in some ten microseconds: not to be divided while nobody waits for
// work.
constexpr std::int64_t filter_alone = 16 * filter_block;

// Body(i, item) for each i that keep(i) wants, in order. Both are a few instructions and cannot fail. Each
// block is filtered for itself; when it is known how many items each has kept, they move to their places.
template <class T, class Keep, class Body>
int filter_small(Seq<T> &result, std::int64_t count, const Site &site, const Keep &keep, const Body &body) {
    std::int64_t blocks = blocks_of(count, filter_block);
    bool is_wanted = (scheduler.attention.load(std::memory_order_relaxed) & Scheduler::hungry_mask) != 0;
    if (scheduler.serial || blocks < 2 || (count <= filter_alone && !is_wanted)) {
        return filter_serial(result, count, site, keep, body);
    }
    Seq<std::int64_t> places;
    Seq<T> filtered, made;
    NDPC_TRY(Seq<std::int64_t>::make(places, blocks, site));
    NDPC_TRY(Seq<T>::make(filtered, count, site));
    std::int64_t *place = places.data();
    T *from = filtered.data();
    NDPC_TRY(each_index(blocks, [&](std::int64_t i) -> int {
        std::int64_t begin = i * filter_block,
                     end = begin + filter_block < count ? begin + filter_block : count;
        place[i] = filter_block_into(from + begin, begin, end, keep, body);
        return done;
    }));
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < blocks; i++) {
        std::int64_t kept = place[i];
        place[i] = total;
        total += kept;
    }
    NDPC_TRY(Seq<T>::make(made, total, site));
    T *to = made.data();
    NDPC_TRY(each_index(blocks, [&](std::int64_t i) -> int {
        std::int64_t end = i + 1 < blocks ? place[i + 1] : total;
        for (std::int64_t k = place[i]; k < end; k++) {
            to[k] = std::move(from[i * filter_block + k - place[i]]);
        }
        return done;
    }));
    result = std::move(made);
    return done;
}

// The indices for which keep(i, wanted) sets `wanted`, in order.
template <class Keep> int select(Seq<int> &result, std::int64_t count, const Site &site, const Keep &keep) {
    Seq<bool> flags;
    NDPC_TRY(each(flags, count, site, keep));
    const bool *flag = flags.begin();
    return filter_small(
        result, count, site, [flag](std::int64_t i) { return flag[i]; },
        [](std::int64_t i, int &item) { item = static_cast<int>(i); });
}

// Checks that the sources of an apply-to-each have one length.
inline int same_length(std::int64_t a, std::int64_t b, const Site &site) {
    if (__builtin_expect(a != b, 0)) {
        return fail(site, "Length mismatch in an apply-to-each. The lengths are %lld and %lld.", a, b);
    }
    return done;
}

} // namespace ndpc

#endif
