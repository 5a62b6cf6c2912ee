// SPDX-License-Identifier: Apache-2.0 OR MIT
// Atomic constructs as calls: an entry point for each type and operation. Clang has instructions instead;
// what calls these are binaries of the compilers that the interface comes from.
#include "atomic.h"

#include "ident.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

namespace hadal::omp::kmpc {

Lock large_atomics;

} // namespace hadal::omp::kmpc

namespace {

using Complex4 = _Complex float;
using Complex8 = _Complex double;
using Complex10 = _Complex long double;

Lock any_atomic; // __kmpc_atomic_start

// An update by the program's function.
template <typename Word>
void by_function(Word *place, void *right, void (*function)(void *, void *, void *)) {
    replace(place, [&](Word left) {
        Word result;
        function(&result, &left, right);
        return result;
    });
}

void by_function_locked(void *place, void *right, void (*function)(void *, void *, void *)) {
    lock(large_atomics);
    function(place, place, right);
    unlock(large_atomics);
}

} // namespace

#define UPDATE(NAME, VALUE, RIGHT, OPERATION)                                                                \
    OMP_EXPORT void __kmpc_atomic_##NAME(const Ident *, Gtid, VALUE *place, RIGHT right) {                   \
        update<OPERATION>(place, right);                                                                     \
    }
// `wants_new`: the value behind the update, not that before.
#define CAPTURE(NAME, VALUE, OPERATION)                                                                      \
    OMP_EXPORT VALUE __kmpc_atomic_##NAME(const Ident *, Gtid, VALUE *place, VALUE right, int wants_new) {   \
        BeforeAfter<VALUE> values = update<OPERATION>(place, right);                                         \
        return wants_new != 0 ? values.after : values.before;                                                \
    }
// Complex numbers of eight bytes go through memory.
#define CAPTURE_TO(NAME, VALUE, OPERATION)                                                                   \
    OMP_EXPORT void __kmpc_atomic_##NAME(const Ident *, Gtid, VALUE *place, VALUE right, VALUE *result,      \
                                         int wants_new) {                                                    \
        BeforeAfter<VALUE> values = update<OPERATION>(place, right);                                         \
        *result = wants_new != 0 ? values.after : values.before;                                             \
    }

#define PLAIN(TYPE, VALUE, NAME, OPERATION)                                                                  \
    UPDATE(TYPE##_##NAME, VALUE, VALUE, OPERATION)                                                           \
    CAPTURE(TYPE##_##NAME##_cpt, VALUE, OPERATION)
#define REVERSIBLE(TYPE, VALUE, NAME, OPERATION)                                                             \
    PLAIN(TYPE, VALUE, NAME, OPERATION)                                                                      \
    UPDATE(TYPE##_##NAME##_rev, VALUE, VALUE, Reverse<OPERATION>)                                            \
    CAPTURE(TYPE##_##NAME##_cpt_rev, VALUE, Reverse<OPERATION>)

#define READ_AND_WRITE(TYPE, VALUE)                                                                          \
    OMP_EXPORT VALUE __kmpc_atomic_##TYPE##_rd(const Ident *, Gtid, VALUE *place) { return read(place); }    \
    OMP_EXPORT void __kmpc_atomic_##TYPE##_wr(const Ident *, Gtid, VALUE *place, VALUE right) {              \
        replace(place, [right](VALUE) { return right; });                                                    \
    }
#define SWAP(TYPE, VALUE)                                                                                    \
    OMP_EXPORT VALUE __kmpc_atomic_##TYPE##_swp(const Ident *, Gtid, VALUE *place, VALUE right) {            \
        return replace(place, [right](VALUE) { return right; }).before;                                      \
    }

#define ARITHMETIC(TYPE, VALUE)                                                                              \
    PLAIN(TYPE, VALUE, add, Add)                                                                             \
    PLAIN(TYPE, VALUE, mul, Mul)                                                                             \
    REVERSIBLE(TYPE, VALUE, sub, Sub)                                                                        \
    REVERSIBLE(TYPE, VALUE, div, Div)                                                                        \
    READ_AND_WRITE(TYPE, VALUE)                                                                              \
    SWAP(TYPE, VALUE)
#define REAL(TYPE, VALUE)                                                                                    \
    ARITHMETIC(TYPE, VALUE)                                                                                  \
    PLAIN(TYPE, VALUE, max, Max)                                                                             \
    PLAIN(TYPE, VALUE, min, Min)
#define INTEGER(TYPE, VALUE)                                                                                 \
    REAL(TYPE, VALUE)                                                                                        \
    PLAIN(TYPE, VALUE, andb, And)                                                                            \
    PLAIN(TYPE, VALUE, orb, Or)                                                                              \
    PLAIN(TYPE, VALUE, xor, Xor)                                                                             \
    PLAIN(TYPE, VALUE, neqv, Xor)                                                                            \
    PLAIN(TYPE, VALUE, eqv, Equivalent)                                                                      \
    PLAIN(TYPE, VALUE, andl, LogicalAnd)                                                                     \
    PLAIN(TYPE, VALUE, orl, LogicalOr)                                                                       \
    REVERSIBLE(TYPE, VALUE, shl, Shl)                                                                        \
    REVERSIBLE(TYPE, VALUE, shr, Shr)                                                                        \
    UPDATE(TYPE##_mul_float8, VALUE, double, Mul)                                                            \
    UPDATE(TYPE##_div_float8, VALUE, double, Div)
// What is different without a sign.
#define UNSIGNED(TYPE, VALUE)                                                                                \
    REVERSIBLE(TYPE, VALUE, div, Div)                                                                        \
    REVERSIBLE(TYPE, VALUE, shr, Shr)

INTEGER(fixed1, int8_t)
INTEGER(fixed2, int16_t)
INTEGER(fixed4, int32_t)
INTEGER(fixed8, int64_t)
UNSIGNED(fixed1u, uint8_t)
UNSIGNED(fixed2u, uint16_t)
UNSIGNED(fixed4u, uint32_t)
UNSIGNED(fixed8u, uint64_t)
REAL(float4, float)
REAL(float8, double)
REAL(float10, long double)
ARITHMETIC(cmplx8, Complex8)
ARITHMETIC(cmplx10, Complex10)

#define FLOAT_BY_DOUBLE(NAME, OPERATION)                                                                     \
    UPDATE(float4_##NAME##_float8, float, double, OPERATION)                                                 \
    UPDATE(cmplx4_##NAME##_cmplx8, Complex4, Complex8, OPERATION)                                            \
    UPDATE(cmplx4_##NAME, Complex4, Complex4, OPERATION)                                                     \
    CAPTURE_TO(cmplx4_##NAME##_cpt, Complex4, OPERATION)
#define COMPLEX_REVERSE(NAME, OPERATION)                                                                     \
    UPDATE(cmplx4_##NAME##_rev, Complex4, Complex4, Reverse<OPERATION>)                                      \
    CAPTURE_TO(cmplx4_##NAME##_cpt_rev, Complex4, Reverse<OPERATION>)

FLOAT_BY_DOUBLE(add, Add)
FLOAT_BY_DOUBLE(sub, Sub)
FLOAT_BY_DOUBLE(mul, Mul)
FLOAT_BY_DOUBLE(div, Div)
COMPLEX_REVERSE(sub, Sub)
COMPLEX_REVERSE(div, Div)
READ_AND_WRITE(cmplx4, Complex4)

OMP_EXPORT void __kmpc_atomic_cmplx4_swp(const Ident *, Gtid, Complex4 *place, Complex4 right,
                                         Complex4 *result) {
    *result = replace(place, [right](Complex4) { return right; }).before;
}

#define BY_FUNCTION(BYTES, CALL, WORD)                                                                       \
    OMP_EXPORT void __kmpc_atomic_##BYTES(const Ident *, Gtid, void *place, void *right,                     \
                                          void (*function)(void *result, void *left, void *right)) {         \
        CALL(static_cast<WORD *>(place), right, function);                                                   \
    }

BY_FUNCTION(1, by_function, uint8_t)
BY_FUNCTION(2, by_function, uint16_t)
BY_FUNCTION(4, by_function, uint32_t)
BY_FUNCTION(8, by_function, uint64_t)
BY_FUNCTION(10, by_function_locked, void)
BY_FUNCTION(16, by_function_locked, void)
BY_FUNCTION(20, by_function_locked, void)
BY_FUNCTION(32, by_function_locked, void)

// `atomic compare`: the result is whether the value was the expected one, or the value before. With `capture`
// a second one goes through memory: what the value was instead, or what it is behind the construct.
#define COMPARE(BYTES, VALUE)                                                                                \
    OMP_EXPORT bool __kmpc_atomic_bool_##BYTES##_cas(const Ident *, Gtid, VALUE *place, VALUE expected,      \
                                                     VALUE wanted) {                                         \
        return HRT_CAS(place, &expected, wanted, HRT_SEQ_CST);                                               \
    }                                                                                                        \
    OMP_EXPORT VALUE __kmpc_atomic_val_##BYTES##_cas(const Ident *, Gtid, VALUE *place, VALUE expected,      \
                                                     VALUE wanted) {                                         \
        HRT_CAS(place, &expected, wanted, HRT_SEQ_CST);                                                      \
        return expected;                                                                                     \
    }                                                                                                        \
    OMP_EXPORT bool __kmpc_atomic_bool_##BYTES##_cas_cpt(const Ident *, Gtid, VALUE *place, VALUE expected,  \
                                                         VALUE wanted, VALUE *found) {                       \
        bool is_done = HRT_CAS(place, &expected, wanted, HRT_SEQ_CST);                                       \
        if (!is_done) {                                                                                      \
            *found = expected;                                                                               \
        }                                                                                                    \
        return is_done;                                                                                      \
    }                                                                                                        \
    OMP_EXPORT VALUE __kmpc_atomic_val_##BYTES##_cas_cpt(const Ident *, Gtid, VALUE *place, VALUE expected,  \
                                                         VALUE wanted, VALUE *after) {                       \
        bool is_done = HRT_CAS(place, &expected, wanted, HRT_SEQ_CST);                                       \
        *after = is_done ? wanted : expected;                                                                \
        return expected;                                                                                     \
    }

COMPARE(1, int8_t)
COMPARE(2, int16_t)
COMPARE(4, int32_t)
COMPARE(8, int64_t)

// Around anything.
OMP_EXPORT void __kmpc_atomic_start() { lock(any_atomic); }

OMP_EXPORT void __kmpc_atomic_end() { unlock(any_atomic); }
