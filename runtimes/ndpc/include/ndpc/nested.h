// SPDX-License-Identifier: Apache-2.0 OR MIT
// Making sequences: from nothing, from several, from sequences of sequences and back.
#ifndef NDPC_NESTED_H
#define NDPC_NESTED_H

#include "index.h"

namespace ndpc {

// [a, b, c]
template <class T, class... Items> int literal(Seq<T> &result, const Site &site, Items &&...items) {
    Seq<T> made;
    NDPC_TRY(Seq<T>::make(made, sizeof...(Items), site));
    T *to = made.data();
    ((*to++ = std::forward<Items>(items)), ...);
    result = std::move(made);
    return done;
}

template <class T> int dist(Seq<T> &result, const T &item, int count, const Site &site) {
    if (count < 0) {
        return fail(site, "Negative length %lld in function DIST.", count);
    }
    return fill(result, count, site, [&](std::int64_t, T &place) -> int {
        place = item;
        return done;
    });
}

// How many numbers [first : end : stride] has.
inline int range_length(std::int64_t &length, int first, int end, int stride, const Site &site) {
    if (end < first || stride < 1) {
        return fail(site, "In [s:e:l], e must be >= to s, and l must be positive.");
    }
    length = (std::int64_t{end} - first + stride - 1) / stride;
    return done;
}
inline int index_length(std::int64_t &length, int first, int end, int stride, const Site &site) {
    if (end < 0) {
        return fail(site, "Negative length %lld in function INDEX.", end);
    }
    return range_length(length, first, end, stride, site);
}

inline int range(Seq<int> &result, int first, int end, int stride, const Site &site) {
    std::int64_t length = 0;
    NDPC_TRY(range_length(length, first, end, stride, site));
    return fill(result, length, site, [=](std::int64_t i, int &item) -> int {
        item = static_cast<int>(first + i * stride);
        return done;
    });
}

// 0 to count - 1
inline int index(Seq<int> &result, int count, const Site &site) {
    std::int64_t length = 0;
    NDPC_TRY(index_length(length, 0, count, 1, site));
    return range(result, 0, count, 1, site);
}

constexpr std::int64_t move_block = 4096;

// Moves each of `count` sequences to its place among the items of the result. The work is divided by items,
// however they are spread over the sequences.
template <class T, class Part>
int concatenate(Seq<T> &result, std::int64_t count, const Site &site, const Part &part) {
    Seq<std::int64_t> places;
    NDPC_TRY(Seq<std::int64_t>::make(places, count + 1, site));
    std::int64_t *place = places.data(), total = 0;
    for (std::int64_t i = 0; i < count; i++) {
        place[i] = total;
        total += part(i).count();
    }
    place[count] = total;
    Seq<T> made;
    NDPC_TRY(Seq<T>::make(made, total, site));
    T *to = made.data();
    NDPC_TRY(each_index(blocks_of(total, move_block), [&](std::int64_t block) -> int {
        std::int64_t at = block * move_block, end = at + move_block < total ? at + move_block : total;
        // The last sequence that begins at or before the block.
        std::int64_t low = 0, high = count;
        while (high - low > 1) {
            std::int64_t middle = low + (high - low) / 2;
            (place[middle] <= at ? low : high) = middle;
        }
        for (std::int64_t i = low; at < end; i++) {
            const Seq<T> &from = part(i);
            std::int64_t stop = place[i + 1] < end ? place[i + 1] : end;
            for (; at < stop; at++) {
                to[at] = from[at - place[i]];
            }
        }
        return done;
    }));
    result = std::move(made);
    return done;
}

template <class T> int flatten(Seq<T> &result, const Seq<Seq<T>> &nested, const Site &site) {
    return concatenate(result, nested.count(), site,
                       [&](std::int64_t i) -> const Seq<T> & { return nested[i]; });
}

// a ++ b ++ ...
template <class T, class... More>
int append(Seq<T> &result, const Site &site, const Seq<T> &first, const More &...more) {
    constexpr std::int64_t count = 1 + sizeof...(More);
    const Seq<T> *parts[count] = {&first, &more...};
    std::int64_t total = 0;
    for (const Seq<T> *part : parts) {
        total += part->count();
    }
    if (total > move_block) {
        return concatenate(result, count, site, [&](std::int64_t i) -> const Seq<T> & { return *parts[i]; });
    }
    Seq<T> made;
    NDPC_TRY(Seq<T>::make(made, total, site));
    T *to = made.data();
    for (const Seq<T> *part : parts) {
        for (const T &item : *part) {
            *to++ = item;
        }
    }
    result = std::move(made);
    return done;
}

// Slices of the lengths given, which share the items.
template <class T>
int partition(Seq<Seq<T>> &result, const Seq<T> &items, const Seq<int> &lengths, const Site &site) {
    Seq<Seq<T>> made;
    NDPC_TRY(Seq<Seq<T>>::make(made, lengths.count(), site));
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < lengths.count(); i++) {
        if (lengths[i] < 0 || lengths[i] > items.count() - at) {
            return fail(site, "Length mismatch in function PARTITION. Length number %lld is %lld.", i,
                        lengths[i]);
        }
        made.data()[i] = items.slice(at, at + lengths[i]);
        at += lengths[i];
    }
    if (at != items.count()) {
        return fail(site,
                    "Length mismatch in function PARTITION. The lengths sum to %lld, the sequence has %lld.",
                    at, items.count());
    }
    result = std::move(made);
    return done;
}

inline int zip_length(std::int64_t a, std::int64_t b, const Site &site) {
    if (a != b) {
        return fail(site, "Length mismatch in function ZIP. The lengths are %lld and %lld.", a, b);
    }
    return done;
}
template <class A, class B>
int zip(Seq<Pair<A, B>> &result, const Seq<A> &a, const Seq<B> &b, const Site &site) {
    NDPC_TRY(zip_length(a.count(), b.count(), site));
    return fill(result, a.count(), site, [&](std::int64_t i, Pair<A, B> &item) -> int {
        item = {a[i], b[i]};
        return done;
    });
}

} // namespace ndpc

#endif
