// SPDX-License-Identifier: Apache-2.0 OR MIT
// Scatter, `items <- changes`: of several values for one place the last one wins, so the changes of a place
// are made in their order. Where others wait for work each of them makes those of a part of the places.
#ifndef NDPC_SCATTER_H
#define NDPC_SCATTER_H

#include <algorithm>

#include "index.h"

namespace ndpc {

constexpr std::int64_t change_block = 2048;
// Where so many blocks are left they are divided if somebody waits for work and there is no other.
constexpr std::int64_t changes_divisible = 4;
// Blocks that are divided together, for each worker.
constexpr std::int64_t blocks_at_once = 32;
// Parts of places begin at multiples of this, so that few cache lines are of two parts.
constexpr std::int64_t part_alignment = 64;

// The places that the changes of a block are for.
struct Places {
    std::int32_t lowest, highest;
};

// As unsigned numbers negative ones are too large as well.
inline int check_place(int place, std::int64_t length, const Site &site) {
    if (__builtin_expect(static_cast<std::uint32_t>(place) >= static_cast<std::uint64_t>(length), 0)) {
        return fail(site, "Index out of bounds for function <-. The index is %lld, the length %lld.", place,
                    length);
    }
    return done;
}

// In what follows change(i) is change number i: a pair of a place and what it gets there. It is a few
// instructions and cannot fail.

// Finds the places of changes `begin` to `end`.
template <class Change>
int find_places(Places &places, std::int64_t length, const Change &change, std::int64_t begin,
                std::int64_t end, const Site &site) {
    int lowest = std::numeric_limits<int>::max(), highest = std::numeric_limits<int>::min();
    for (std::int64_t i = begin; i < end; i++) {
        int place = change(i).first;
        lowest = std::min(lowest, place);
        highest = std::max(highest, place);
    }
    bool is_bad = lowest < 0 || highest >= length;
    for (std::int64_t i = begin; __builtin_expect(is_bad, 0) && i < end; i++) {
        NDPC_TRY(check_place(change(i).first, length, site));
    }
    places = {lowest, highest};
    return done;
}

// Makes those of the changes `begin` to `end`, which are for `places`, that are for places `low` to `high`.
template <class T, class Change>
void make_changes(T *to, const Change &change, std::int64_t begin, std::int64_t end, const Places &places,
                  std::int64_t low, std::int64_t high) {
    if (places.highest < low || places.lowest >= high) {
        return;
    }
    bool all = places.lowest >= low && places.highest < high;
    for (std::int64_t i = begin; i < end; i++) {
        const auto &[place, item] = change(i);
        if (all || (place >= low && place < high)) {
            to[place] = item;
        }
    }
}

// The changes from number `next` on, divided: so many blocks after the other that they are still in the
// caches when it is known where they go.
template <class T, class Change>
__attribute__((noinline)) int scatter_rest(T *to, std::int64_t length, const Change &change,
                                           std::int64_t next, std::int64_t count, const Site &site) {
    std::int64_t most = blocks_at_once * worker_count();
    Seq<Places> of_blocks;
    NDPC_TRY(Seq<Places>::make(of_blocks, most, site));
    Places *places = of_blocks.data();
    for (; next < count; next += most * change_block) {
        std::int64_t blocks = std::min(most, blocks_of(count - next, change_block));
        auto begin_of = [=](std::int64_t block) { return next + block * change_block; };
        auto end_of = [=](std::int64_t block) { return std::min(count, begin_of(block + 1)); };
        NDPC_TRY(each_index(blocks, [&](std::int64_t block) -> int {
            return find_places(places[block], length, change, begin_of(block), end_of(block), site);
        }));
        std::int64_t lowest = length, highest = 0;
        for (std::int64_t block = 0; block < blocks; block++) {
            lowest = std::min<std::int64_t>(lowest, places[block].lowest);
            highest = std::max<std::int64_t>(highest, places[block].highest);
        }
        std::int64_t wide = highest + 1 - lowest;
        std::int64_t part = blocks_of(blocks_of(wide, worker_count()), part_alignment) * part_alignment;
        NDPC_TRY(each_index(blocks_of(wide, part), [&](std::int64_t i) -> int {
            for (std::int64_t block = 0; block < blocks; block++) {
                make_changes(to, change, begin_of(block), end_of(block), places[block], lowest + i * part,
                             lowest + (i + 1) * part);
            }
            return done;
        }));
    }
    return done;
}

// The copy of `items` with `count` changes.
template <class T, class Change>
int make_all_changes(Seq<T> &result, const Seq<T> &items, std::int64_t count, const Site &site,
                     const Change &change) {
    Seq<T> made;
    NDPC_TRY(copy(made, items, site));
    T *to = made.data();
    std::int64_t length = items.count();
    for (std::int64_t next = 0; next < count;) {
        std::int64_t end = std::min(count, next + change_block);
        for (; next < end; next++) {
            const auto &[place, item] = change(next);
            NDPC_TRY(check_place(place, length, site));
            to[place] = item;
        }
        if (count - next >= changes_divisible * change_block && should_divide()) {
            NDPC_TRY(scatter_rest(to, length, change, next, count, site));
            break;
        }
    }
    result = std::move(made);
    return done;
}

template <class T>
int scatter(Seq<T> &result, const Seq<T> &items, const Seq<Pair<int, T>> &changes, const Site &site) {
    const Pair<int, T> *from = changes.begin();
    return make_all_changes(result, items, changes.count(), site,
                            [from](std::int64_t i) -> const Pair<int, T> & { return from[i]; });
}

// The same with what body(i, item) gives for each i < count: a few instructions that cannot fail, and may run
// several times.
template <class T, class Body>
int scatter_small(Seq<T> &result, const Seq<T> &items, std::int64_t count, const Site &site,
                  const Body &body) {
    return make_all_changes(result, items, count, site, [body](std::int64_t i) {
        Pair<int, T> item;
        body(i, item);
        return item;
    });
}

} // namespace ndpc

#endif
