// SPDX-License-Identifier: Apache-2.0 OR MIT
// The interpreter: threaded code, with the fast paths of vectors of length 1 in line.
#include "../ops/elementwise.h"
#include "../ops/operands.h"
#include "../ops/routines.h"
#include "observe.h"

namespace hadal::vcode {

namespace {

#define FIELD_Int i
#define FIELD_Bool b
#define FIELD_Float f
#define HEAD_Int INT1
#define HEAD_Bool BOOL1
#define HEAD_Float FLOAT1

// With NULL for the machine it only tells where the places are.
bool run(Machine *machine, const Instruction *in, const void *const **places) {
    static const void *const labels[FAST_COUNT] = {
        &&do_routine,
#define X(id, ...) &&do_##id,
        VCODE_BINARY(X) VCODE_UNARY(X) VCODE_SELECT(X)
#undef X
            && do_copy1,
        &&do_pop1,
        &&do_swap,
        &&do_shuffle,
        &&do_const,
        &&do_call,
        &&do_ret,
        &&do_if,
        &&do_jump,
        &&do_exit,
        &&do_end,
        &&do_observed,
    };
    if (machine == nullptr) {
        *places = labels;
        return true;
    }

    Cell *sp = machine->top;
    const Instruction **rp = machine->return_top;
#define NEXT                                                                                                 \
    do {                                                                                                     \
        in++;                                                                                                \
        goto * in->go;                                                                                       \
    } while (0)
    goto * in->go;

    // Below the stack are cells without a type: no fast path takes them for operands.
#define X(id, name, suffix, A, B, R, expression)                                                             \
    do_##id : if (HRT_LIKELY(sp[-1].head == HEAD_##B && sp[-2].head == HEAD_##A)) {                          \
        A a = sp[-2].FIELD_##A;                                                                              \
        B b = sp[-1].FIELD_##B;                                                                              \
        sp--;                                                                                                \
        sp[-1].head = HEAD_##R;                                                                              \
        sp[-1].FIELD_##R = static_cast<R>(expression);                                                       \
        NEXT;                                                                                                \
    }                                                                                                        \
    goto do_routine;
    VCODE_BINARY(X)
#undef X
#define X(id, name, suffix, A, R, expression)                                                                \
    do_##id : if (HRT_LIKELY(sp[-1].head == HEAD_##A)) {                                                     \
        A a = sp[-1].FIELD_##A;                                                                              \
        sp[-1].head = HEAD_##R;                                                                              \
        sp[-1].FIELD_##R = static_cast<R>(expression);                                                       \
        NEXT;                                                                                                \
    }                                                                                                        \
    goto do_routine;
    VCODE_UNARY(X)
#undef X
#define X(id, name, suffix, T)                                                                               \
    do_##id : if (HRT_LIKELY(sp[-1].head == HEAD_##T && sp[-2].head == HEAD_##T && sp[-3].head == BOOL1)) {  \
        T chosen = sp[-3].b ? sp[-2].FIELD_##T : sp[-1].FIELD_##T;                                           \
        sp -= 2;                                                                                             \
        sp[-1].head = HEAD_##T;                                                                              \
        sp[-1].FIELD_##T = chosen;                                                                           \
        NEXT;                                                                                                \
    }                                                                                                        \
    goto do_routine;
    VCODE_SELECT(X)
#undef X

do_routine:
    machine->top = sp;
    machine->return_top = rp;
    machine->at = in;
    if (HRT_UNLIKELY(!in->routine(*machine, *in))) {
        return false;
    }
    sp = machine->top;
    NEXT;

do_copy1 : {
    size_t position = static_cast<size_t>(in->position);
    if (HRT_UNLIKELY(position >= static_cast<size_t>(sp - machine->base) || sp == machine->limit)) {
        goto do_routine;
    }
    const Cell cell = sp[-1 - static_cast<ptrdiff_t>(position)];
    retain(cell);
    *sp++ = cell;
    NEXT;
}
do_pop1:
    if (HRT_UNLIKELY(sp == machine->base)) {
        goto do_routine;
    }
    sp--;
    release(*sp);
    NEXT;
do_swap : {
    if (HRT_UNLIKELY(sp - machine->base < 2)) {
        goto do_routine;
    }
    Cell cell = sp[-1];
    sp[-1] = sp[-2];
    sp[-2] = cell;
    NEXT;
}
do_shuffle : {
    const Shuffle &shuffle = *in->shuffle;
    if (HRT_UNLIKELY(static_cast<size_t>(sp - machine->base) < shuffle.depth ||
                     static_cast<size_t>(machine->limit - sp) < shuffle.results)) {
        goto do_routine;
    }
    sp = shuffle_cells(*machine->code, shuffle, sp);
    NEXT;
}
do_const:
    if (HRT_UNLIKELY(sp == machine->limit)) {
        goto do_routine;
    }
    *sp = *in->constant;
    retain(*sp);
    sp++;
    NEXT;
do_call:
    if (HRT_UNLIKELY(rp == machine->return_limit)) {
        machine->top = sp;
        machine->return_top = rp;
        machine->at = in;
        if (!machine->grow_returns()) {
            return false;
        }
        rp = machine->return_top;
    }
    *rp++ = in + 1;
    in = in->target;
    goto * in->go;
do_ret:
    in = *--rp;
    goto * in->go;
do_if:
    if (HRT_UNLIKELY(sp[-1].head != BOOL1)) {
        goto do_routine;
    }
    sp--;
    in = sp->b ? in + 1 : in->target;
    goto * in->go;
do_jump:
    in = in->target;
    goto * in->go;
do_exit:
    machine->exited = true;
do_end:
    machine->top = sp;
    machine->return_top = rp;
    return true;
do_observed : {
    machine->top = sp;
    machine->return_top = rp;
    machine->at = in;
    uint32_t fast;
    if (!observe(*machine, *in, fast)) {
        return false;
    }
    goto *labels[fast];
}
}

const void *const *places() {
    const void *const *labels = nullptr;
    run(nullptr, nullptr, &labels);
    return labels;
}

} // namespace

const void *interpreter_place(uint32_t fast) {
    static const void *const *labels = places();
    return labels[fast];
}

bool interpret(Machine &machine, const Instruction *entry) {
    machine.return_top = machine.returns;
    *machine.return_top++ = &machine.code->instructions[machine.code->instructions.size() - 1];
    bool fine = run(&machine, entry, nullptr);
    machine.at = nullptr;
    return fine;
}

} // namespace hadal::vcode
