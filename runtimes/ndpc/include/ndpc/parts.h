// SPDX-License-Identifier: Apache-2.0 OR MIT
// Loops over a few elements that stand in the program, `{f(x) : x in [a, b]}`: how most functions fork. The
// serial clone has no loop for them; it is as if the calls stood one behind the other.
#ifndef NDPC_PARTS_H
#define NDPC_PARTS_H

#include <type_traits>
#include <utility>

#include "each.h"
#include "reduce.h"

namespace ndpc {

// Scalars are copied: that costs nothing, and a variable that nobody points to can live in a register.
template <class E> constexpr bool is_copied = std::is_scalar_v<E>;
template <class E> using Part = std::conditional_t<is_copied<E>, E, const E &>;

// Elements side by side.
template <class E, int count> struct Parts {
    std::conditional_t<is_copied<E>, E, const E *> parts[count];

    static auto part(const E &element) {
        if constexpr (is_copied<E>) {
            return element;
        } else {
            return &element;
        }
    }
    const E &operator[](std::int64_t index) const {
        if constexpr (is_copied<E>) {
            return parts[index];
        } else {
            return *parts[index];
        }
    }
};

template <class E, class... Rest>
Parts<E, 1 + sizeof...(Rest)> parts_of(const E &first, const Rest &...rest) {
    static_assert((std::is_same_v<E, Rest> && ...));
    return {{Parts<E, 1>::part(first), Parts<E, 1>::part(rest)...}};
}

// The combination of `total` with what the elements from `next` on give, divided.
template <class Op, class T, class Body, class E, int count>
__attribute__((noinline)) int divide_parts(T &result, T total, int next, const Site &site, const Body &body,
                                           const Parts<E, count> &parts) {
    T items[count];
    NDPC_TRY(each_element(Forking(), count - next, site, [&, next](Mode auto mode, std::int64_t i) -> int {
        return body(mode, parts[next + i], items[i]);
    }));
    for (int i = 0; i < count - next; i++) {
        total = Op::combine(total, items[i]);
    }
    result = total;
    return done;
}

// The same in the serial clone, when there is a question: one element after another unless that is the
// answer.
template <class Op, Mode M, class T, class Body, class E, class... Rest>
__attribute__((noinline, cold)) int reduce_asked(M mode, T &result, T total, const Site &site,
                                                 const Body &body, Part<E> element, Part<Rest>... rest) {
    constexpr int count = 1 + sizeof...(rest);
    auto parts = parts_of(element, rest...);
    for (int i = 0; i < count; i++) {
        if ((i == 0 || i + 1 < count) && has_question()) {
            bool forks = false;
            NDPC_TRY(answer(forks, site));
            if constexpr (std::is_same_v<M, Serial>) {
                if (forks) {
                    return divide_parts<Op>(result, total, i, site, body, parts);
                }
            }
        }
        T item;
        NDPC_TRY(body(mode, parts[i], item));
        total = Op::combine(total, item);
    }
    result = total;
    return done;
}

// The same as long as there is no question. Inlined at once: only then compilers see that a function which
// calls itself through a body calls itself.
template <class Op, bool may_ask, Mode M, class T, class Body, class E, class... Rest>
__attribute__((always_inline)) inline int reduce_parts(M mode, T &result, T total, const Site &site,
                                                       const Body &body, const E &element,
                                                       const Rest &...rest) {
    if constexpr (may_ask) {
        if (__builtin_expect(has_question(), 0)) {
            // Not into `result`: what nobody points to can live in a register.
            T asked;
            NDPC_TRY(
                (reduce_asked<Op, M, T, Body, E, Rest...>(mode, asked, total, site, body, element, rest...)));
            result = asked;
            return done;
        }
    }
    T item{}; // a value, for compilers that do not follow the status
    NDPC_TRY(body(mode, element, item));
    total = Op::combine(total, item);
    if constexpr (sizeof...(rest) > 0) {
        return reduce_parts<Op, (sizeof...(rest) > 1)>(mode, result, total, site, body, rest...);
    } else {
        result = total;
        return done;
    }
}

// Combines what body(mode, element, item) gives for each element, from left to right.
template <class Op, Mode M, class T, class Body, class... E>
__attribute__((always_inline)) inline int reduce_of(M mode, T &result, const Site &site, const Body &body,
                                                    const E &...elements) {
    static_assert(sizeof...(E) <= few_items);
    if constexpr (std::is_same_v<M, Forking>) {
        return divide_parts<Op>(result, Op::identity, 0, site, body, parts_of(elements...));
    } else {
        return reduce_parts<Op, true>(mode, result, Op::identity, site, body, elements...);
    }
}

// A sequence of what body(mode, element, item) gives for each element.
template <Mode M, class T, class Body, class... E>
int each_of(M mode, Seq<T> &result, const Site &site, const Body &body, const E &...elements) {
    auto parts = parts_of(elements...);
    return each(mode, result, sizeof...(E), site,
                [&](Mode auto mode, std::int64_t i, T &item) -> int { return body(mode, parts[i], item); });
}

} // namespace ndpc

#endif
