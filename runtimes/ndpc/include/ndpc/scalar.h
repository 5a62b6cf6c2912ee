// SPDX-License-Identifier: Apache-2.0 OR MIT
// Arithmetic of the language: ints of 32 bits that wrap, checked divisions, conversions that saturate.
#ifndef NDPC_SCALAR_H
#define NDPC_SCALAR_H

#include <bit>
#include <cmath>
#include <cstdint>

#include "error.h"

namespace ndpc {

inline int add(int a, int b) { return static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)); }
inline int subtract(int a, int b) {
    return static_cast<int>(static_cast<unsigned>(a) - static_cast<unsigned>(b));
}
inline int multiply(int a, int b) {
    return static_cast<int>(static_cast<unsigned>(a) * static_cast<unsigned>(b));
}
inline int negate(int a) { return subtract(0, a); }
inline double add(double a, double b) { return a + b; }
inline double subtract(double a, double b) { return a - b; }
inline double multiply(double a, double b) { return a * b; }
inline double negate(double a) { return -a; }

// Truncates toward zero; the least int divided by -1 wraps.
inline int divide(int &result, int a, int b, const Site &site) {
    if (__builtin_expect(b == 0, 0)) {
        return fail(site, "Divide by zero.");
    }
    result = b == -1 ? negate(a) : a / b;
    return done;
}
inline int divide(double &result, double a, double b, const Site &site) {
    if (__builtin_expect(b == 0, 0)) {
        return fail(site, "Divide by zero.");
    }
    result = a / b;
    return done;
}
// With the sign of `a`.
inline int rem(int &result, int a, int b, const Site &site) {
    if (__builtin_expect(b == 0, 0)) {
        return fail(site, "Divide by zero in function REM.");
    }
    result = b == -1 ? 0 : a % b;
    return done;
}
// With the sign of `b`, as the 3.1 system has it: of 5 and -3 it is -1, of -5 and 3 it is 1. `b` is not 0.
inline int modulo(int a, int b) {
    int left = b == -1 ? 0 : a % b;
    return left != 0 && (left < 0) != (b < 0) ? left + b : left;
}
inline int mod(int &result, int a, int b, const Site &site) {
    if (__builtin_expect(b == 0, 0)) {
        return fail(site, "Divide by zero in function MOD.");
    }
    result = modulo(a, b);
    return done;
}

template <class T> int power(T &result, T base, int exponent, const Site &site) {
    if (__builtin_expect(exponent < 0, 0)) {
        return fail(site, "Negative exponent %lld in function ^.", exponent);
    }
    T product = 1;
    for (; exponent != 0; exponent >>= 1) {
        product = exponent & 1 ? multiply(product, base) : product;
        base = multiply(base, base);
    }
    result = product;
    return done;
}

inline int square_root(double &result, double a, const Site &site) {
    if (__builtin_expect(a < 0, 0)) {
        return fail(site, "Sqrt of negative number.");
    }
    result = std::sqrt(a);
    return done;
}
inline int natural_log(double &result, double a, const Site &site) {
    if (__builtin_expect(a < 0, 0)) {
        return fail(site, "Log of negative number.");
    }
    result = std::log(a);
    return done;
}
// The largest int whose square is at most `a`.
inline int integer_root(int &result, int a, const Site &site) {
    if (__builtin_expect(a < 0, 0)) {
        return fail(site, "Sqrt of negative number.");
    }
    result = static_cast<int>(std::sqrt(static_cast<double>(a))); // exact: 32 bits of 53
    return done;
}

inline int saturate(double a) {
    if (!(a > -2147483648.0)) {
        return a <= -2147483648.0 ? -2147483647 - 1 : 0; // 0 for what is not a number
    }
    return a < 2147483647.0 ? static_cast<int>(a) : 2147483647;
}
// Every neighbour of what lies between these is an int. Outside of them functions of the C library round,
// which programs for any processor of 64 bits must call.
inline bool has_int_neighbours(double a) {
    return __builtin_expect(a > -2147483647.0 && a < 2147483646.0, 1);
}
inline int trunc_int(double a) { return saturate(a); }
inline int floor_int(double a) {
    if (!has_int_neighbours(a)) {
        return saturate(std::floor(a));
    }
    int whole = static_cast<int>(a);
    return whole - (whole > a);
}
inline int ceil_int(double a) {
    if (!has_int_neighbours(a)) {
        return saturate(std::ceil(a));
    }
    int whole = static_cast<int>(a);
    return whole + (whole < a);
}
// To the nearest one, to the even one of two.
inline int round_int(double a) {
    if (!has_int_neighbours(a)) {
        return saturate(std::nearbyint(a));
    }
    // A number of this size has bits for whole numbers only: the addition rounds, and its last bits are the
    // int.
    return static_cast<int>(std::bit_cast<std::int64_t>(a + 0x1.8p52));
}

inline int absolute(int a) { return a < 0 ? negate(a) : a; }
inline double absolute(double a) { return std::fabs(a); }
inline int difference(int a, int b) { return absolute(subtract(a, b)); }
inline double difference(double a, double b) { return std::fabs(a - b); }
// Characters are ordered by their codes, 0 to 255.
inline int code(char a) { return static_cast<unsigned char>(a); }
template <class T> T larger(T a, T b) { return a < b ? b : a; }
template <class T> T smaller(T a, T b) { return b < a ? b : a; }
inline char larger(char a, char b) { return code(a) < code(b) ? b : a; }
inline char smaller(char a, char b) { return code(b) < code(a) ? b : a; }

inline int shift_left(int a, int n) {
    return n < 0 || n > 31 ? 0 : static_cast<int>(static_cast<unsigned>(a) << n);
}
inline int shift_right(int a, int n) { return a >> (n < 0 || n > 31 ? 31 : n); }

// Of bools and, bit by bit, of ints.
inline bool logical_and(bool a, bool b) { return a && b; }
inline bool logical_or(bool a, bool b) { return a || b; }
inline bool logical_xor(bool a, bool b) { return a != b; }
inline bool logical_not(bool a) { return !a; }
inline int logical_and(int a, int b) { return a & b; }
inline int logical_or(int a, int b) { return a | b; }
inline int logical_xor(int a, int b) { return a ^ b; }
inline int logical_not(int a) { return ~a; }

} // namespace ndpc

#endif
