// SPDX-License-Identifier: Apache-2.0 OR MIT
// The loops of elementwise operations over whole vectors.
#ifndef __clang__
#pragma GCC optimize("O3", "no-math-errno")
#endif

#include "elementwise.h"

namespace hadal::vcode {

// A result may be in the place of an operand, element for element; nothing else overlaps.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" // loops that call libm, and unoptimised builds
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

#define WIDE __attribute__((target("avx2")))

namespace {

// Each loop twice: for any processor, and for those with vectors of 256 bits. Both give the same results.
#define BINARY(id, A, B, R, expression, version, target)                                                     \
    target void kernel_##id##_##version(void *result, const void *left, const void *right, const void *,     \
                                        size_t count) {                                                      \
        const A *as = static_cast<const A *>(left);                                                          \
        const B *bs = static_cast<const B *>(right);                                                         \
        R *rs = static_cast<R *>(result);                                                                    \
        INDEPENDENT for (size_t index = 0; index < count; index++) {                                         \
            A a = as[index];                                                                                 \
            B b = bs[index];                                                                                 \
            rs[index] = static_cast<R>(expression);                                                          \
        }                                                                                                    \
    }
#define X(id, name, suffix, A, B, R, expression)                                                             \
    BINARY(id, A, B, R, expression, any, )                                                                   \
    BINARY(id, A, B, R, expression, wide, WIDE)
VCODE_BINARY(X)
#undef X

#define UNARY(id, A, R, expression, version, target)                                                         \
    target void kernel_##id##_##version(void *result, const void *left, const void *, const void *,          \
                                        size_t count) {                                                      \
        const A *as = static_cast<const A *>(left);                                                          \
        R *rs = static_cast<R *>(result);                                                                    \
        INDEPENDENT for (size_t index = 0; index < count; index++) {                                         \
            A a = as[index];                                                                                 \
            rs[index] = static_cast<R>(expression);                                                          \
        }                                                                                                    \
    }
#define X(id, name, suffix, A, R, expression)                                                                \
    UNARY(id, A, R, expression, any, )                                                                       \
    UNARY(id, A, R, expression, wide, WIDE)
VCODE_UNARY(X)
#undef X

#define SELECT(id, T, version, target)                                                                       \
    target void kernel_##id##_##version(void *result, const void *flags, const void *left,                   \
                                        const void *right, size_t count) {                                   \
        const Bool *fs = static_cast<const Bool *>(flags);                                                   \
        const T *as = static_cast<const T *>(left);                                                          \
        const T *bs = static_cast<const T *>(right);                                                         \
        T *rs = static_cast<T *>(result);                                                                    \
        INDEPENDENT for (size_t index = 0; index < count; index++) {                                         \
            T a = as[index], b = bs[index];                                                                  \
            rs[index] = fs[index] ? a : b;                                                                   \
        }                                                                                                    \
    }
#define X(id, name, suffix, T)                                                                               \
    SELECT(id, T, any, )                                                                                     \
    SELECT(id, T, wide, WIDE)
VCODE_SELECT(X)
#undef X

} // namespace

const Elementwise elementwise_table[FAST_COPY1] = {
    {{nullptr, nullptr}, {Type::None, Type::None, Type::None}, Type::None, 0},
#define X(id, name, suffix, A, B, R, expression)                                                             \
    {{kernel_##id##_any, kernel_##id##_wide}, {Type::A, Type::B, Type::None}, Type::R, 2},
    VCODE_BINARY(X)
#undef X
#define X(id, name, suffix, A, R, expression)                                                                \
    {{kernel_##id##_any, kernel_##id##_wide}, {Type::A, Type::None, Type::None}, Type::R, 1},
        VCODE_UNARY(X)
#undef X
#define X(id, name, suffix, T)                                                                               \
    {{kernel_##id##_any, kernel_##id##_wide}, {Type::Bool, Type::T, Type::T}, Type::T, 3},
            VCODE_SELECT(X)
#undef X
};

Kernel best_of(const Kernel (&kernels)[2]) {
    static const bool wide = __builtin_cpu_supports("avx2");
    return kernels[wide];
}

} // namespace hadal::vcode
