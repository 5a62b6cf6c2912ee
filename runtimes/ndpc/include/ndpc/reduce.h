// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reductions and scans over blocks of a fixed length: results depend on the input alone, also those of
// floats.
#ifndef NDPC_REDUCE_H
#define NDPC_REDUCE_H

#include <limits>

#include "scalar.h"
#include "seq.h"

namespace ndpc {

constexpr std::int64_t reduce_block = 2048;
// So many items are combined from left to right, more in several lanes.
constexpr int few_items = 7;

inline std::int64_t blocks_of(std::int64_t count, std::int64_t block) { return (count + block - 1) / block; }

// Operators: identity and combination.
template <class T> struct Plus {
    static constexpr T identity = 0;
    static T combine(T a, T b) { return add(a, b); }
};
template <class T> struct Times {
    static constexpr T identity = 1;
    static T combine(T a, T b) { return multiply(a, b); }
};
// Of nothing the 3.1 system makes one step inside the range of single precision.
template <class T> constexpr T greatest = std::numeric_limits<T>::max();
template <> inline constexpr double greatest<double> = 9.9999996169031625e35;
template <class T> constexpr T least = std::numeric_limits<T>::min();
template <> inline constexpr double least<double> = -9.9999996169031625e35;
template <class T> struct Maximum {
    static constexpr T identity = least<T>;
    static T combine(T a, T b) { return larger(a, b); }
};
template <class T> struct Minimum {
    static constexpr T identity = greatest<T>;
    static T combine(T a, T b) { return smaller(a, b); }
};
template <class T> struct Or {
    static constexpr T identity = 0;
    static T combine(T a, T b) { return logical_or(a, b); }
};
template <class T> struct And {
    static constexpr T identity = static_cast<T>(-1);
    static T combine(T a, T b) { return logical_and(a, b); }
};
template <class T> struct Xor {
    static constexpr T identity = 0;
    static T combine(T a, T b) { return logical_xor(a, b); }
};

// Adds items to `total` from left to right.
template <class Op, class T, class Body>
inline int reduce_in_order(T &total, std::int64_t begin, std::int64_t end, const Body &body) {
    for (std::int64_t i = begin; i < end; i++) {
        T item;
        NDPC_TRY(body(i, item));
        total = Op::combine(total, item);
    }
    return done;
}

constexpr int lanes = few_items + 1;
// To begin and to combine lanes costs more than it gains where there are fewer items than this.
constexpr int laned_items = 4 * lanes;

template <class Op, class T, class Body>
inline int reduce_short(T &result, std::int64_t begin, std::int64_t end, const Body &body) {
    T total = Op::identity;
    NDPC_TRY(reduce_in_order<Op>(total, begin, end, body));
    result = total;
    return done;
}

// One block: eight sums side by side, which compilers turn into vectors, then those from left to right.
template <class Op, class T, class Body>
int reduce_one_block(T &result, std::int64_t begin, std::int64_t end, const Body &body) {
    if (end - begin < laned_items) {
        return reduce_short<Op>(result, begin, end, body);
    }
    T total = Op::identity;
    T sums[lanes];
    for (T &sum : sums) {
        sum = Op::identity;
    }
    std::int64_t i = begin;
    for (; i + lanes <= end; i += lanes) {
#pragma GCC unroll 8
        for (int lane = 0; lane < lanes; lane++) {
            T item;
            NDPC_TRY(body(i + lane, item));
            sums[lane] = Op::combine(sums[lane], item);
        }
    }
    NDPC_TRY(reduce_in_order<Op>(total, i, end, body));
    for (int lane = lanes; lane-- > 0;) {
        total = Op::combine(sums[lane], total);
    }
    result = total;
    return done;
}

// Groups of so many items are combined without a branch for each, so that compilers turn them into vectors.
constexpr int decide_group = 64;

// The first item of a block that decides, or the identity if none does. What is no group is short, as most
// whole loops of this kind are.
template <class Op, class Body>
bool decide_one_block(std::int64_t begin, std::int64_t end, const Body &body) {
    std::int64_t i = begin;
    for (; i + decide_group <= end; i += decide_group) {
        bool total = Op::identity;
        for (int k = 0; k < decide_group; k++) {
            bool item;
            body(i + k, item);
            total = Op::combine(total, item);
        }
        if (total != Op::identity) {
            return total;
        }
    }
    for (; i < end; i++) {
        bool item;
        body(i, item);
        if (item != Op::identity) {
            return item;
        }
    }
    return Op::identity;
}

// Combines what one_block(part, begin, end) gives for the blocks of `count` items. With `decides`, parts
// other than the identity are the result. Out of line: what is inlined is one block.
template <class Op, bool decides, class T, class Block>
__attribute__((noinline)) int reduce_blocks(T &result, std::int64_t count, const Site &site,
                                            const Block &one_block) {
    std::int64_t blocks = blocks_of(count, reduce_block);
    auto end_of = [count](std::int64_t begin) {
        return begin + reduce_block < count ? begin + reduce_block : count;
    };
    T total = Op::identity;
    if (scheduler.serial) {
        for (std::int64_t begin = 0; begin < count; begin += reduce_block) {
            T part;
            NDPC_TRY(one_block(part, begin, end_of(begin)));
            total = Op::combine(total, part);
            if (decides && total != Op::identity) {
                break;
            }
        }
        result = total;
        return done;
    }
    Seq<T> parts;
    NDPC_TRY(Seq<T>::make(parts, blocks, site));
    T *part = parts.data();
    NDPC_TRY(each_index(blocks, [&](std::int64_t i) -> int {
        return one_block(part[i], i * reduce_block, end_of(i * reduce_block));
    }));
    for (std::int64_t i = 0; i < blocks; i++) {
        total = Op::combine(total, part[i]);
    }
    result = total;
    return done;
}

// Combines what body(i, item) gives for each i < count, where bodies are small.
template <class Op, class T, class Body>
int reduce_small(T &result, std::int64_t count, const Site &site, const Body &body) {
    // In line: of many short sequences, a call for each would be an eighth of the time.
    if (count < laned_items) {
        return reduce_short<Op>(result, 0, count, body);
    }
    if (count <= reduce_block) {
        return reduce_one_block<Op>(result, 0, count, body);
    }
    return reduce_blocks<Op, false>(result, count, site,
                                    [&](T &part, std::int64_t begin, std::int64_t end) -> int {
                                        return reduce_one_block<Op>(part, begin, end, body);
                                    });
}

// The same of bools where bodies cannot fail: nothing is lost with the items behind one that decides.
template <class Op, class Body>
int decide(bool &result, std::int64_t count, const Site &site, const Body &body) {
    if (count <= reduce_block) {
        result = decide_one_block<Op>(0, count, body);
        return done;
    }
    return reduce_blocks<Op, true>(result, count, site,
                                   [&](bool &part, std::int64_t begin, std::int64_t end) -> int {
                                       part = decide_one_block<Op>(begin, end, body);
                                       return done;
                                   });
}

// Combines what body(mode, i, item) gives for each i < count, where each may take long.
template <class Op, Mode M, class T, class Body>
int reduce_each(M mode, T &result, std::int64_t count, const Site &site, const Body &body) {
    if constexpr (!std::is_same_v<M, Forking>) {
        if (scheduler.serial && count > few_items) {
            NDPC_TRY(check_stack(site));
            return reduce_small<Op>(result, count, site,
                                    [&](std::int64_t i, T &item) -> int { return body(mode, i, item); });
        }
    }
    // Where there are few elements the forks are what counts: no allocation beside them.
    T near[few_items];
    Seq<T> far;
    T *to = near;
    if (count > few_items) {
        NDPC_TRY(Seq<T>::make(far, count, site));
        to = far.data();
    }
    NDPC_TRY(each_element(mode, count, site,
                          [&](Mode auto mode, std::int64_t i) -> int { return body(mode, i, to[i]); }));
    return reduce_small<Op>(result, count, site, [to](std::int64_t i, T &item) -> int {
        item = to[i];
        return done;
    });
}

template <class Op, class T> int reduce(T &result, const Seq<T> &items, const Site &site) {
    const T *from = items.begin();
    return reduce_small<Op>(result, items.count(), site, [from](std::int64_t i, T &item) -> int {
        item = from[i];
        return done;
    });
}

// How many are true.
inline int count_true(int &result, const Seq<bool> &flags, const Site &site) {
    const bool *from = flags.begin();
    return reduce_small<Plus<int>>(result, flags.count(), site, [from](std::int64_t i, int &item) -> int {
        item = from[i];
        return done;
    });
}

template <class Op, class T>
void scan_one_block(T *to, const T *from, std::int64_t begin, std::int64_t end, T before) {
    T total = Op::identity;
    for (std::int64_t i = begin; i < end; i++) {
        to[i] = Op::combine(before, total);
        total = Op::combine(total, from[i]);
    }
}

// Element i of the result combines elements 0 to i - 1.
template <class Op, class T> int scan(Seq<T> &result, const Seq<T> &items, const Site &site) {
    std::int64_t count = items.count(), blocks = blocks_of(count, reduce_block);
    Seq<T> made, totals;
    NDPC_TRY(Seq<T>::make(made, count, site));
    NDPC_TRY(Seq<T>::make(totals, blocks, site));
    const T *from = items.begin();
    T *to = made.data(), *block_total = totals.data();
    auto end_of = [count](std::int64_t i) {
        return (i + 1) * reduce_block < count ? (i + 1) * reduce_block : count;
    };
    NDPC_TRY(each_index(blocks, [&](std::int64_t i) -> int {
        T total = Op::identity;
        for (std::int64_t k = i * reduce_block; k < end_of(i); k++) {
            total = Op::combine(total, from[k]);
        }
        block_total[i] = total;
        return done;
    }));
    T before = Op::identity;
    for (std::int64_t i = 0; i < blocks; i++) {
        T total = block_total[i];
        block_total[i] = before;
        before = Op::combine(before, total);
    }
    NDPC_TRY(each_index(blocks, [&](std::int64_t i) -> int {
        scan_one_block<Op>(to, from, i * reduce_block, end_of(i), block_total[i]);
        return done;
    }));
    result = std::move(made);
    return done;
}

} // namespace ndpc

#endif
