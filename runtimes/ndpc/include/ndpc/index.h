// SPDX-License-Identifier: Apache-2.0 OR MIT
// Elements by number: indexing, gather, slices.
#ifndef NDPC_INDEX_H
#define NDPC_INDEX_H

#include "each.h"

namespace ndpc {

// Element `index` itself, in place.
template <class T> int element(const T *&result, const Seq<T> &items, int index, const Site &site) {
    // As unsigned numbers negative indices are too large as well.
    auto place = static_cast<std::uint32_t>(index);
    if (__builtin_expect(place >= static_cast<std::uint64_t>(items.count()), 0)) {
        return fail(site, "Sequence reference (a[i]) out of bounds. The index is %lld, the length %lld.",
                    index, items.count());
    }
    result = &items[place];
    return done;
}
template <class T> int element(T &result, const Seq<T> &items, int index, const Site &site) {
    const T *place;
    NDPC_TRY(element(place, items, index, site));
    result = *place;
    return done;
}

// A loop over rows asks for the memory of rows to come: within a row the processor sees what comes next, but
// not where the next row is. On a host with slow memory the bench's ndpc.sparse_1 takes 19.2 ms instead of
// 24.6.
constexpr std::int64_t rows_ahead = 12;
// Of a longer row the processor gets the rest in time.
constexpr std::uintptr_t row_ahead_bytes = 384;
constexpr std::uintptr_t cache_line_bytes = 64;

// Row `index`, of a loop that reads all rows in their order.
template <class T> const Seq<T> &row(const Seq<Seq<T>> &rows, std::int64_t index) {
    if (index + rows_ahead < rows.count()) {
        auto items = reinterpret_cast<std::uintptr_t>(rows[index + rows_ahead].begin());
#pragma GCC unroll 6
        for (std::uintptr_t bytes = 0; bytes < row_ahead_bytes; bytes += cache_line_bytes) {
            __builtin_prefetch(reinterpret_cast<const void *>(items + bytes)); // anywhere is allowed
        }
    }
    return rows[index];
}

// items -> indices
template <class T>
int gather(Seq<T> &result, const Seq<T> &items, const Seq<int> &indices, const Site &site) {
    return fill(result, indices.count(), site, [&](std::int64_t i, T &item) -> int {
        if (static_cast<std::uint32_t>(indices[i]) >= static_cast<std::uint64_t>(items.count())) {
            return fail(site, "Index out of bounds for function ->. The index is %lld, the length %lld.",
                        indices[i], items.count());
        }
        item = items[indices[i]];
        return done;
    });
}

template <class T> int copy(Seq<T> &result, const Seq<T> &items, const Site &site) {
    return fill(result, items.count(), site, [&](std::int64_t i, T &item) -> int {
        item = items[i];
        return done;
    });
}

// `items` with `item` in the place `index`.
template <class T>
int replace(Seq<T> &result, const Seq<T> &items, const T &item, int index, const Site &site) {
    const T *place;
    NDPC_TRY(element(place, items, index, site));
    Seq<T> made;
    NDPC_TRY(copy(made, items, site));
    made.data()[index] = item;
    result = std::move(made);
    return done;
}

template <class T> int subseq(Seq<T> &result, const Seq<T> &items, int from, int to, const Site &site) {
    if (from < 0 || to < from || to > items.count()) {
        return fail(site, "Bounds error for function SUBSEQ. It is asked for %lld to %lld.", from, to);
    }
    result = items.slice(from, to);
    return done;
}

// A negative number counts from the end: take(s, -2) gives the last two, drop(s, -2) all but those.
template <class T> int take(Seq<T> &result, const Seq<T> &items, int number, const Site &site) {
    std::int64_t count = items.count(), wanted = number < 0 ? -std::int64_t{number} : number;
    if (wanted > count) {
        return fail(site, "Bounds error for function TAKE. The number is %lld, the length %lld.", number,
                    count);
    }
    result = number < 0 ? items.slice(count - wanted, count) : items.slice(0, wanted);
    return done;
}
template <class T> int drop(Seq<T> &result, const Seq<T> &items, int number, const Site &site) {
    std::int64_t count = items.count(), unwanted = number < 0 ? -std::int64_t{number} : number;
    if (unwanted > count) {
        return fail(site, "Bounds error for function DROP. The number is %lld, the length %lld.", number,
                    count);
    }
    result = number < 0 ? items.slice(0, count - unwanted) : items.slice(unwanted, count);
    return done;
}

template <class T> int reverse(Seq<T> &result, const Seq<T> &items, const Site &site) {
    std::int64_t last = items.count() - 1;
    return fill(result, items.count(), site, [&](std::int64_t i, T &item) -> int {
        item = items[last - i];
        return done;
    });
}

} // namespace ndpc

#endif
