// SPDX-License-Identifier: Apache-2.0 OR MIT
// The operators of scans and reduces.
#ifndef HADAL_VCODE_OPERATORS_H
#define HADAL_VCODE_OPERATORS_H

#include "elementwise.h"

#include <limits>

namespace hadal::vcode {

// The identities of MAX and MIN on FLOAT are what the 3.1 system has: 1e36 rounded to single precision.
inline constexpr Float FLOAT_EXTREME = 9.9999996169031625e35;

// Whether a reassociation changes results.
template <typename T> inline constexpr bool EXACT = !std::numeric_limits<T>::is_iec559;

template <typename T> struct Sum {
    using Element = T;
    static T identity() { return 0; }
    static T apply(T a, T b) {
        if constexpr (EXACT<T>) {
            return wrap_add(a, b);
        } else {
            return a + b;
        }
    }
};
template <typename T> struct Product {
    using Element = T;
    static T identity() { return 1; }
    static T apply(T a, T b) {
        if constexpr (EXACT<T>) {
            return wrap_multiply(a, b);
        } else {
            return a * b;
        }
    }
};
template <typename T> struct Maximum {
    using Element = T;
    static T identity() { return EXACT<T> ? std::numeric_limits<T>::min() : static_cast<T>(-FLOAT_EXTREME); }
    static T apply(T a, T b) { return a > b ? a : b; }
};
template <typename T> struct Minimum {
    using Element = T;
    static T identity() { return EXACT<T> ? std::numeric_limits<T>::max() : static_cast<T>(FLOAT_EXTREME); }
    static T apply(T a, T b) { return a < b ? a : b; }
};
template <typename T> struct Conjunction {
    using Element = T;
    static T identity() { return TypeOf<T>::value == Type::Bool ? 1 : static_cast<T>(-1); }
    static T apply(T a, T b) { return a & b; }
};
template <typename T> struct Disjunction {
    using Element = T;
    static T identity() { return 0; }
    static T apply(T a, T b) { return a | b; }
};
template <typename T> struct ExclusiveOr {
    using Element = T;
    static T identity() { return 0; }
    static T apply(T a, T b) { return a ^ b; }
};

// X(part of the name, suffix, operator)
#define VCODE_OPERATORS(X)                                                                                   \
    X("+", Int, Sum<Int>)                                                                                    \
    X("+", Float, Sum<Float>)                                                                                \
    X("*", Int, Product<Int>)                                                                                \
    X("*", Float, Product<Float>)                                                                            \
    X("MAX", Int, Maximum<Int>)                                                                              \
    X("MAX", Float, Maximum<Float>)                                                                          \
    X("MIN", Int, Minimum<Int>)                                                                              \
    X("MIN", Float, Minimum<Float>)                                                                          \
    X("AND", Int, Conjunction<Int>)                                                                          \
    X("AND", Bool, Conjunction<Bool>)                                                                        \
    X("OR", Int, Disjunction<Int>)                                                                           \
    X("OR", Bool, Disjunction<Bool>)                                                                         \
    X("XOR", Int, ExclusiveOr<Int>)                                                                          \
    X("XOR", Bool, ExclusiveOr<Bool>)

} // namespace hadal::vcode

#endif
