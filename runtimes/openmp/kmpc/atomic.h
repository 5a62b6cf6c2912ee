// SPDX-License-Identifier: Apache-2.0 OR MIT
// Atomic updates by any operation: by compare-and-swap as far as the processor can, else under a lock.
#ifndef HADAL_OMP_KMPC_ATOMIC_H
#define HADAL_OMP_KMPC_ATOMIC_H

#include <cstring>
#include <type_traits>

#include <hadal/hrt.h>

#include "core/lock.h"

namespace hadal::omp::kmpc {

// For all values that are larger than eight bytes.
extern Lock large_atomics;

template <size_t bytes> struct WordOf {
    using Type = void; // none: the lock
};
template <> struct WordOf<1> { using Type = uint8_t; };
template <> struct WordOf<2> { using Type = uint16_t; };
template <> struct WordOf<4> { using Type = uint32_t; };
template <> struct WordOf<8> { using Type = uint64_t; };

template <typename Value> struct BeforeAfter { Value before, after; };

// Replaces *place by next(*place).
template <typename Value, typename Next> BeforeAfter<Value> replace(Value *place, Next next) {
    using Word = typename WordOf<sizeof(Value)>::Type;
    BeforeAfter<Value> values;
    if constexpr (std::is_void_v<Word>) {
        lock(large_atomics);
        values.before = *place;
        *place = values.after = next(values.before);
        unlock(large_atomics);
    } else {
        Word *word = reinterpret_cast<Word *>(place), old = HRT_LOAD(word, HRT_RELAXED), wanted;
        do {
            memcpy(&values.before, &old, sizeof old);
            values.after = next(values.before);
            memcpy(&wanted, &values.after, sizeof wanted);
        } while (!HRT_CAS(word, &old, wanted, HRT_SEQ_CST));
    }
    return values;
}

template <typename Value> Value read(Value *place) {
    using Word = typename WordOf<sizeof(Value)>::Type;
    Value value;
    if constexpr (std::is_void_v<Word>) {
        lock(large_atomics);
        value = *place;
        unlock(large_atomics);
    } else {
        Word word = HRT_LOAD(reinterpret_cast<Word *>(place), HRT_SEQ_CST);
        memcpy(&value, &word, sizeof word);
    }
    return value;
}

// The operations; their results are of the left operand's type.
#define HADAL_OMP_OPERATION(NAME, EXPRESSION)                                                                \
    struct NAME {                                                                                            \
        template <typename Left, typename Right> static Left of(Left left, Right right) {                    \
            return static_cast<Left>(EXPRESSION);                                                            \
        }                                                                                                    \
    };
HADAL_OMP_OPERATION(Add, left + right)
HADAL_OMP_OPERATION(Sub, left - right)
HADAL_OMP_OPERATION(Mul, left *right)
HADAL_OMP_OPERATION(Div, left / right)
HADAL_OMP_OPERATION(And, left &right)
HADAL_OMP_OPERATION(Or, left | right)
HADAL_OMP_OPERATION(Xor, left ^ right)
HADAL_OMP_OPERATION(Equivalent, left ^ ~right)
HADAL_OMP_OPERATION(Shl, left << right)
HADAL_OMP_OPERATION(Shr, left >> right)
HADAL_OMP_OPERATION(LogicalAnd, left &&right)
HADAL_OMP_OPERATION(LogicalOr, left || right)
HADAL_OMP_OPERATION(Max, right > left ? right : left)
HADAL_OMP_OPERATION(Min, right < left ? right : left)
#undef HADAL_OMP_OPERATION

template <typename Operation> struct Reverse {
    template <typename Value> static Value of(Value left, Value right) { return Operation::of(right, left); }
};

template <typename Operation, typename Value, typename Right>
BeforeAfter<Value> update(Value *place, Right right) {
    return replace(place, [right](Value left) { return Operation::of(left, right); });
}

} // namespace hadal::omp::kmpc

#endif
