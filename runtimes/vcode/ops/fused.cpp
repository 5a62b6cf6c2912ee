// SPDX-License-Identifier: Apache-2.0 OR MIT
// The loops of pairs of operations.
#ifndef __clang__
#pragma GCC optimize("O3")
#endif

#include "fused.h"

#include <utility>

namespace hadal::vcode {

namespace {

#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" // unoptimised builds
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

enum Arithmetic { ADD, SUBTRACT, MULTIPLY, ARITHMETIC };

template <typename T, int WHICH> [[gnu::always_inline]] inline T compute(T a, T b) {
    if constexpr (TypeOf<T>::value == Type::Int) {
        return WHICH == ADD ? wrap_add(a, b) : WHICH == SUBTRACT ? wrap_subtract(a, b) : wrap_multiply(a, b);
    } else {
        return WHICH == ADD ? a + b : WHICH == SUBTRACT ? a - b : a * b;
    }
}

// A result may be in the place of an operand, element for element; nothing else overlaps. Each loop is there
// for any processor and for those with vectors of 256 bits. The latter may not use fused multiplication and
// addition, which rounds once: results are those of the operations one by one.
#define FUSED(version, target)                                                                               \
    template <typename T, int FIRST, int SECOND, bool IS_LEFT>                                               \
    target void fused_##version(void *result, const void *a, const void *b, const void *c, size_t count) {   \
        const T *as = static_cast<const T *>(a), *bs = static_cast<const T *>(b);                            \
        const T *cs = static_cast<const T *>(c);                                                             \
        T *rs = static_cast<T *>(result);                                                                    \
        INDEPENDENT for (size_t index = 0; index < count; index++) {                                         \
            T between = compute<T, FIRST>(as[index], bs[index]);                                             \
            T other = cs[index];                                                                             \
            rs[index] = IS_LEFT ? compute<T, SECOND>(between, other) : compute<T, SECOND>(other, between);   \
        }                                                                                                    \
    }
FUSED(any, )
FUSED(wide, __attribute__((target("avx2"))))

constexpr size_t PAIRS = ARITHMETIC * ARITHMETIC * 2;

struct Loops {
    Kernel kernels[PAIRS][2];
};

template <typename T, size_t PAIR> constexpr Kernel loop(bool is_wide) {
    constexpr int FIRST = PAIR / 2 / ARITHMETIC, SECOND = PAIR / 2 % ARITHMETIC;
    constexpr bool IS_LEFT = PAIR % 2 != 0;
    return is_wide ? fused_wide<T, FIRST, SECOND, IS_LEFT> : fused_any<T, FIRST, SECOND, IS_LEFT>;
}

template <typename T, size_t... PAIR> constexpr Loops loops(std::index_sequence<PAIR...>) {
    return {{{loop<T, PAIR>(false), loop<T, PAIR>(true)}...}};
}

constexpr Loops of_int = loops<Int>(std::make_index_sequence<PAIRS>());
constexpr Loops of_float = loops<Float>(std::make_index_sequence<PAIRS>());

int arithmetic_of(const Elementwise &operation) {
    constexpr uint16_t operations[ARITHMETIC][2] = {{FAST_AddInt, FAST_AddFloat},
                                                    {FAST_SubtractInt, FAST_SubtractFloat},
                                                    {FAST_MultiplyInt, FAST_MultiplyFloat}};
    int which = 0;
    while (which < ARITHMETIC && &operation != &elementwise_table[operations[which][0]] &&
           &operation != &elementwise_table[operations[which][1]]) {
        which++;
    }
    return which;
}

} // namespace

Kernel fused_kernel(const Elementwise &first, const Elementwise &second, bool is_left) {
    int one = arithmetic_of(first), two = arithmetic_of(second);
    if (one == ARITHMETIC || two == ARITHMETIC || first.result != second.result) {
        return nullptr;
    }
    const Loops &all = first.result == Type::Int ? of_int : of_float;
    return best_of(all.kernels[(one * ARITHMETIC + two) * 2 + (is_left ? 1 : 0)]);
}

} // namespace hadal::vcode
