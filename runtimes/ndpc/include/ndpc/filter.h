// SPDX-License-Identifier: Apache-2.0 OR MIT
// Filters: the elements that a predicate wants, in order. One worker needs one pass; what is divided is
// filtered block by block, and moves together when it is known how many each has kept.
#ifndef NDPC_FILTER_H
#define NDPC_FILTER_H

#include <algorithm>

#include "each.h"

namespace ndpc {

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

// A part of a divided filter: `kept` items of the room from `begin` on, filtered by one worker.
struct FilterPart {
    std::int64_t begin = 0, kept = 0;
    std::int64_t place = 0; // in the result
    // Of no other part but the worker's own is anything read before all are done.
    std::atomic<const Worker *> by{nullptr};
};

template <class T> void move_part(T *to, T *from, const FilterPart &part) {
    std::move(from + part.begin, from + part.begin + part.kept, to);
}

// Fewer parts than this are not worth being divided.
constexpr std::int64_t parts_divisible = 8;

// Moves parts to their places in the room they are in. Side by side go those whose places end before the
// first part that has not moved.
template <class T> int close_gaps(T *items, const FilterPart *part, std::int64_t count) {
    for (std::int64_t first = 0; first < count;) {
        std::int64_t end = first;
        while (end < count && part[end].place + part[end].kept <= part[first].begin) {
            end++;
        }
        if (end - first < parts_divisible) {
            if (part[first].begin != part[first].place) {
                move_part(items + part[first].place, items, part[first]);
            }
            first++;
            continue;
        }
        NDPC_TRY(each_index(end - first, [&](std::int64_t i) -> int {
            const FilterPart &moved = part[first + i];
            move_part(items + moved.place, items, moved);
            return done;
        }));
        first = end;
    }
    return done;
}

// The sequence that the parts' items make: in their room if they fill half of it, as in fit().
template <class T>
int gather_parts(Seq<T> &result, Seq<T> room, FilterPart *part, std::int64_t count, const Site &site) {
    T *from = room.data();
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < count; i++) {
        part[i].place = total;
        total += part[i].kept;
    }
    if (total >= room.count() / 2) {
        NDPC_TRY(close_gaps(from, part, count));
        room.shorten(total);
        result = std::move(room);
        return done;
    }
    Seq<T> made;
    NDPC_TRY(Seq<T>::make(made, total, site));
    T *to = made.data();
    NDPC_TRY(each_index(count, [&](std::int64_t i) -> int {
        move_part(to + part[i].place, from, part[i]);
        return done;
    }));
    result = std::move(made);
    return done;
}

// Where this many blocks are left of a filter they are divided if somebody waits for work and there is no
// other.
constexpr std::int64_t filter_divisible = 4;

// The rest of a filter, from element `next` on, divided: `kept` items are in the room already. Each block is
// filtered to where it began, or behind the one before it if the same worker has filtered that.
template <class T, class Keep, class Body>
__attribute__((noinline)) int filter_rest(Seq<T> &result, Seq<T> room, std::int64_t next, std::int64_t kept,
                                          const Site &site, const Keep &keep, const Body &body) {
    std::int64_t count = room.count();
    Seq<FilterPart> parts;
    NDPC_TRY(Seq<FilterPart>::make(parts, 1 + blocks_of(count - next, filter_block), site));
    FilterPart *part = parts.data();
    part[0].kept = kept;
    part[0].by.store(&worker(), std::memory_order_relaxed);
    T *items = room.data();
    NDPC_TRY(each_index(parts.count() - 1, [&](std::int64_t i) -> int {
        const FilterPart &before = part[i];
        FilterPart &mine = part[i + 1];
        std::int64_t from = next + i * filter_block,
                     end = from + filter_block < count ? from + filter_block : count;
        bool follows = before.by.load(std::memory_order_relaxed) == &worker();
        mine.begin = follows ? before.begin + before.kept : from;
        mine.kept = filter_block_into(items + mine.begin, from, end, keep, body);
        mine.by.store(&worker(), std::memory_order_relaxed);
        return done;
    }));
    return gather_parts(result, std::move(room), part, parts.count(), site);
}

// Body(i, item) for each i that keep(i) wants, in order. Both are a few instructions and cannot fail.
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
        if (count - next >= filter_divisible * filter_block && should_divide()) {
            return filter_rest(result, std::move(room), next, kept, site, keep, body);
        }
    }
    return fit(result, std::move(room), kept, site);
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

} // namespace ndpc

#endif
