// SPDX-License-Identifier: Apache-2.0 OR MIT
// Elementwise operations: one list that the interpreter's fast paths, the loops over vectors and the table of
// operations are made from.
#ifndef HADAL_VCODE_ELEMENTWISE_H
#define HADAL_VCODE_ELEMENTWISE_H

#include "../core/cell.h"

#include <cmath>

namespace hadal::vcode {

// INT wraps.
inline Int wrap_add(Int a, Int b) {
    return static_cast<Int>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
inline Int wrap_subtract(Int a, Int b) {
    return static_cast<Int>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
}
inline Int wrap_multiply(Int a, Int b) {
    return static_cast<Int>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
}
// No division traps: by zero gives 0, the least INT by -1 wraps.
inline Int safe_divide(Int a, Int b) {
    return HRT_UNLIKELY(b == 0) ? 0 : static_cast<Int>(static_cast<int64_t>(a) / b);
}
inline Int safe_remainder(Int a, Int b) {
    return HRT_UNLIKELY(b == 0) ? 0 : static_cast<Int>(static_cast<int64_t>(a) % b);
}
inline Int shift_left(Int a, Int n) { return static_cast<Int>(static_cast<uint32_t>(a) << (n & 31)); }
inline Int shift_right(Int a, Int n) { return a >> (n & 31); }
// FLOAT to INT: what has no INT becomes the nearest one, a NaN 0.
inline Int saturate(Float x) {
    if (HRT_LIKELY(x > -2147483649.0 && x < 2147483648.0)) {
        return static_cast<Int>(x);
    }
    return x != x ? 0 : x < 0 ? INT32_MIN : INT32_MAX;
}
inline Int floor_int(Float x) {
    Int whole = saturate(x);
    return whole - (static_cast<Float>(whole) > x && whole != INT32_MIN);
}
inline Int ceil_int(Float x) {
    Int whole = saturate(x);
    return whole + (static_cast<Float>(whole) < x && whole != INT32_MAX);
}
inline Int round_int(Float x) {
    if (HRT_LIKELY(x > -2147483648.5 && x < 2147483647.5)) {
        int64_t whole = __builtin_lrint(x); // ties to even: the rounding mode is never changed
        return whole > INT32_MAX ? INT32_MAX : static_cast<Int>(whole);
    }
    return saturate(x);
}

// X(identifier, name, suffix, types of the operands from the deepest, type of the result, expression)
#define VCODE_BINARY(X)                                                                                      \
    X(AddInt, "+", Int, Int, Int, Int, wrap_add(a, b))                                                       \
    X(AddFloat, "+", Float, Float, Float, Float, a + b)                                                      \
    X(SubtractInt, "-", Int, Int, Int, Int, wrap_subtract(a, b))                                             \
    X(SubtractFloat, "-", Float, Float, Float, Float, a - b)                                                 \
    X(MultiplyInt, "*", Int, Int, Int, Int, wrap_multiply(a, b))                                             \
    X(MultiplyFloat, "*", Float, Float, Float, Float, a *b)                                                  \
    X(DivideInt, "/", Int, Int, Int, Int, safe_divide(a, b))                                                 \
    X(DivideFloat, "/", Float, Float, Float, Float, a / b)                                                   \
    X(Remainder, "%", None, Int, Int, Int, safe_remainder(a, b))                                             \
    X(LessInt, "<", Int, Int, Int, Bool, a < b)                                                              \
    X(LessFloat, "<", Float, Float, Float, Bool, a < b)                                                      \
    X(LessEqualInt, "<=", Int, Int, Int, Bool, a <= b)                                                       \
    X(LessEqualFloat, "<=", Float, Float, Float, Bool, a <= b)                                               \
    X(GreaterInt, ">", Int, Int, Int, Bool, a > b)                                                           \
    X(GreaterFloat, ">", Float, Float, Float, Bool, a > b)                                                   \
    X(GreaterEqualInt, ">=", Int, Int, Int, Bool, a >= b)                                                    \
    X(GreaterEqualFloat, ">=", Float, Float, Float, Bool, a >= b)                                            \
    X(EqualInt, "=", Int, Int, Int, Bool, a == b)                                                            \
    X(EqualFloat, "=", Float, Float, Float, Bool, a == b)                                                    \
    X(UnequalInt, "!=", Int, Int, Int, Bool, a != b)                                                         \
    X(UnequalFloat, "!=", Float, Float, Float, Bool, a != b)                                                 \
    X(ShiftLeft, "LSHIFT", None, Int, Int, Int, shift_left(a, b))                                            \
    X(ShiftRight, "RSHIFT", None, Int, Int, Int, shift_right(a, b))                                          \
    X(AndBool, "AND", Bool, Bool, Bool, Bool, a &b)                                                          \
    X(AndInt, "AND", Int, Int, Int, Int, a &b)                                                               \
    X(OrBool, "OR", Bool, Bool, Bool, Bool, a | b)                                                           \
    X(OrInt, "OR", Int, Int, Int, Int, a | b)                                                                \
    X(XorBool, "XOR", Bool, Bool, Bool, Bool, a ^ b)                                                         \
    X(XorInt, "XOR", Int, Int, Int, Int, a ^ b)

// X(identifier, name, suffix, type of the operand, type of the result, expression)
#define VCODE_UNARY(X)                                                                                       \
    X(NotBool, "NOT", Bool, Bool, Bool, a ^ 1)                                                               \
    X(NotInt, "NOT", Int, Int, Int, ~a)                                                                      \
    X(Floor, "FLOOR", None, Float, Int, floor_int(a))                                                        \
    X(Ceil, "CEIL", None, Float, Int, ceil_int(a))                                                           \
    X(Trunc, "TRUNC", None, Float, Int, saturate(a))                                                         \
    X(Round, "ROUND", None, Float, Int, round_int(a))                                                        \
    X(IntToFloat, "I_TO_F", None, Int, Float, static_cast<Float>(a))                                         \
    X(IntToBool, "I_TO_B", None, Int, Bool, a != 0)                                                          \
    X(BoolToInt, "B_TO_I", None, Bool, Int, a)                                                               \
    X(Log, "LOG", None, Float, Float, log(a))                                                                \
    X(Sqrt, "SQRT", None, Float, Float, sqrt(a))                                                             \
    X(Exp, "EXP", None, Float, Float, exp(a))                                                                \
    X(Sin, "SIN", None, Float, Float, sin(a))                                                                \
    X(Cos, "COS", None, Float, Float, cos(a))                                                                \
    X(Tan, "TAN", None, Float, Float, tan(a))                                                                \
    X(Asin, "ASIN", None, Float, Float, asin(a))                                                             \
    X(Acos, "ACOS", None, Float, Float, acos(a))                                                             \
    X(Atan, "ATAN", None, Float, Float, atan(a))                                                             \
    X(Sinh, "SINH", None, Float, Float, sinh(a))                                                             \
    X(Cosh, "COSH", None, Float, Float, cosh(a))                                                             \
    X(Tanh, "TANH", None, Float, Float, tanh(a))

// X(identifier, name, suffix, type): the flags are the deepest operand.
#define VCODE_SELECT(X)                                                                                      \
    X(SelectInt, "SELECT", Int, Int)                                                                         \
    X(SelectBool, "SELECT", Bool, Bool)                                                                      \
    X(SelectFloat, "SELECT", Float, Float)

// Numbers of the interpreter's fast paths.
enum Fast : uint16_t {
    FAST_NONE, // call the routine
#define X(id, ...) FAST_##id,
    VCODE_BINARY(X) VCODE_UNARY(X) VCODE_SELECT(X)
#undef X
        FAST_COPY1,
    FAST_POP1,
    FAST_SWAP,
    FAST_SHUFFLE,
    FAST_CONST,
    FAST_CALL,
    FAST_RET,
    FAST_IF,
    FAST_JUMP,
    FAST_EXIT,
    FAST_END,
    FAST_OBSERVED,
    FAST_COUNT
};

// A loop over vectors: all elements of `result` from those of the operands. The result may lie where an
// operand lies whose elements are as long.
using Kernel = void (*)(void *result, const void *a, const void *b, const void *c, size_t count);

struct Elementwise {
    Kernel kernels[2]; // for any processor, and for this one if it can do more
    Type operands[3];
    Type result;
    uint8_t arity;
};

extern const Elementwise elementwise_table[FAST_COPY1];

// Of two loops, for any processor and for one that can do more, the better one that this processor has.
Kernel best_of(const Kernel (&kernels)[2]);
inline Kernel kernel_of(const Elementwise &operation) { return best_of(operation.kernels); }

} // namespace hadal::vcode

#endif
