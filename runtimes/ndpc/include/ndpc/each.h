// SPDX-License-Identifier: Apache-2.0 OR MIT
// Apply-to-each: a sequence of what a body gives for each index, and filters by count, scan and move.
#ifndef NDPC_EACH_H
#define NDPC_EACH_H

#include "reduce.h"
#include "seq.h"

namespace ndpc {

// result[i] by body(mode, i, result[i]).
template <Mode M, class T, class Body>
int each(M mode, Seq<T> &result, std::int64_t count, const Site &site, const Body &body) {
    Seq<T> made;
    NDPC_TRY(Seq<T>::make(made, count, site));
    T *to = made.data();
    NDPC_TRY(each_element(mode, count, site,
                          [&](Mode auto mode, std::int64_t i) -> int { return body(mode, i, to[i]); }));
    result = std::move(made);
    return done;
}

// The same with bodies of a few instructions: body(i, result[i]).
template <class T, class Body>
int fill(Seq<T> &result, std::int64_t count, const Site &site, const Body &body) {
    Seq<T> made;
    NDPC_TRY(Seq<T>::make(made, count, site));
    T *to = made.data();
    NDPC_TRY(each_index<Size::small>(count, [&](std::int64_t i) -> int { return body(i, to[i]); }));
    result = std::move(made);
    return done;
}

// One element after another, each of which may fork.
template <Mode M, class T, class Body>
int each_serial(M mode, Seq<T> &result, std::int64_t count, const Site &site, const Body &body) {
    Seq<T> made;
    NDPC_TRY(Seq<T>::make(made, count, site));
    for (std::int64_t i = 0; i < count; i++) {
        NDPC_TRY(body(mode, i, made.data()[i]));
    }
    result = std::move(made);
    return done;
}

constexpr std::int64_t filter_block = 2048;

// Filters elements `begin` to `end` and gives how many it has kept. Items that are not kept are written over:
// that costs less than a branch which nobody can predict. Whether to keep one is known before it is written,
// and the function objects are copies, so that nothing has to be read again behind a store.
template <class T, class Keep, class Body>
std::int64_t filter_block_into(T *items, std::int64_t begin, std::int64_t end, Keep keep, Body body) {
    T *to = items;
    for (std::int64_t i = begin; i < end; i++) {
        if constexpr (std::is_trivially_copyable_v<T>) {
            bool kept = keep(i);
            body(i, *to);
            to += kept ? 1 : 0;
        } else if (keep(i)) {
            body(i, *to++);
        }
    }
    return to - items;
}

// The first `kept` items of `room`, moved to a place of their size if there is much more room than that.
template <class T> int fit(Seq<T> &result, Seq<T> room, std::int64_t kept, const Site &site) {
    if (kept >= room.count() / 2) {
        room.shorten(kept);
        result = std::move(room);
        return done;
    }
    Seq<T> made;
    NDPC_TRY(Seq<T>::make(made, kept, site));
    for (std::int64_t i = 0; i < kept; i++) {
        made.data()[i] = std::move(room.data()[i]);
    }
    result = std::move(made);
    return done;
}

// Makes a sequence out of what lies apart: items begin[i] to begin[i] + kept[i] of `from` for each i < parts.
template <class T>
int gather_parts(Seq<T> &result, T *from, std::int64_t parts, const std::int64_t *begin, std::int64_t *kept,
                 const Site &site) {
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < parts; i++) {
        std::int64_t here = kept[i];
        kept[i] = total;
        total += here;
    }
    Seq<T> made;
    NDPC_TRY(Seq<T>::make(made, total, site));
    T *to = made.data();
    NDPC_TRY(each_index(parts, [&](std::int64_t i) -> int {
        std::int64_t end = i + 1 < parts ? kept[i + 1] : total;
        for (std::int64_t k = kept[i]; k < end; k++) {
            to[k] = std::move(from[begin[i] + k - kept[i]]);
        }
        return done;
    }));
    result = std::move(made);
    return done;
}

// Where this many blocks are left of a filter they are divided if somebody waits for work and there is no
// other.
constexpr std::int64_t filter_divisible = 4;

// Body(i, item) for each i that keep(i) wants, in order. Both are a few instructions and cannot fail. One
// worker needs one pass; what is divided is filtered block by block, and moves together when it is known how
// many each has kept.
template <class T, class Keep, class Body>
int filter_small(Seq<T> &result, std::int64_t count, const Site &site, Keep keep, Body body) {
    Seq<T> room;
    NDPC_TRY(Seq<T>::make(room, count, site));
    T *items = room.data();
    std::int64_t next = 0, kept = 0;
    while (next < count) {
        std::int64_t end = next + filter_block < count ? next + filter_block : count;
        kept += filter_block_into(items + kept, next, end, keep, body);
        next = end;
        if (count - next >= filter_divisible * filter_block &&
            (scheduler.attention.load(std::memory_order_relaxed) & Scheduler::hungry_mask) != 0 &&
            !can_give(worker())) {
            break;
        }
    }
    if (next == count) {
        return fit(result, std::move(room), kept, site);
    }
    // The first part is what has been filtered so far.
    std::int64_t parts = 1 + blocks_of(count - next, filter_block);
    Seq<std::int64_t> begins, counts;
    NDPC_TRY(Seq<std::int64_t>::make(begins, parts, site));
    NDPC_TRY(Seq<std::int64_t>::make(counts, parts, site));
    std::int64_t *begin = begins.data(), *part_kept = counts.data();
    begin[0] = 0;
    part_kept[0] = kept;
    NDPC_TRY(each_index(parts - 1, [&](std::int64_t i) -> int {
        std::int64_t from = next + i * filter_block,
                     end = from + filter_block < count ? from + filter_block : count;
        begin[i + 1] = from;
        part_kept[i + 1] = filter_block_into(items + from, from, end, keep, body);
        return done;
    }));
    return gather_parts(result, items, parts, begin, part_kept, site);
}

template <Mode M, class Keep>
int select(M mode, Seq<int> &result, std::int64_t count, const Site &site, const Keep &keep);

// The rest of a selection, from element `next` on, divided.
template <class Keep>
__attribute__((noinline, cold)) int divide_selection(int *to, std::int64_t &kept, std::int64_t next,
                                                     std::int64_t count, const Site &site, const Keep &keep) {
    Seq<int> rest;
    NDPC_TRY(select(Forking(), rest, count - next, site,
                    [&, next](Mode auto mode, std::int64_t i, bool &wanted) -> int {
                        return keep(mode, next + i, wanted);
                    }));
    for (int index : rest) {
        to[kept++] = static_cast<int>(next) + index;
    }
    return done;
}

// The indices for which keep(mode, i, wanted) sets `wanted`, in order.
template <Mode M, class Keep>
int select(M mode, Seq<int> &result, std::int64_t count, const Site &site, const Keep &keep) {
    if constexpr (std::is_same_v<M, Forking>) {
        Seq<bool> flags;
        NDPC_TRY(each(mode, flags, count, site, keep));
        const bool *flag = flags.begin();
        return filter_small(
            result, count, site, [flag](std::int64_t i) { return flag[i]; },
            [](std::int64_t i, int &item) { item = static_cast<int>(i); });
    } else {
        Seq<int> made;
        NDPC_TRY(Seq<int>::make(made, count, site));
        int *to = made.data();
        std::int64_t kept = 0;
        for (std::int64_t i = 0; i < count; i++) {
            if ((i == 0 || i + 1 < count) && __builtin_expect(has_question(), 0)) {
                bool forks = false;
                NDPC_TRY(answer(forks, site));
                if constexpr (std::is_same_v<M, Serial>) {
                    if (forks) {
                        NDPC_TRY(divide_selection(to, kept, i, count, site, keep));
                        break;
                    }
                }
            }
            bool wanted = false;
            NDPC_TRY(keep(mode, i, wanted));
            to[kept] = static_cast<int>(i);
            kept += wanted ? 1 : 0;
        }
        made.shorten(kept);
        result = std::move(made);
        return done;
    }
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
