// SPDX-License-Identifier: Apache-2.0 OR MIT
// Fork: a child thread or fiber that goes on in a copy of its parent's current frame.
//
//   parent's stack                       child's stack
//   +------------------+
//   | caller's frame   |                 | owner          |  <- rsp when the copy has returned
//   | return address   | frame + 8       | end of child   |
//   | saved rbp        | frame           | saved rbp      |  <- rbp of the child
//   | locals, saved    |        copy     | locals, saved  |
//   | registers        | rsp             | registers      |  <- rsp of the child
//   | ret. from fork   |                 | struct hrt_child, once
//
// The copy has the parent's alignment modulo 64, so that locals for vector instructions stay where the code
// expects them. What points into the frame, from the frame itself or from a register, points into the copy
// afterwards: compilers keep addresses of locals in both without being asked. One address in the frame points
// above it: a function of gcc that aligns its stack further reaches its return address through a pointer it
// saves just below the frame pointer.
#include "internal.h"

#define FRAME_ALIGN 64
// Words below the frame pointer among which that pointer is: at most all callee-saved registers come first.
#define ALIGNED_CALLER_WORDS 8
#define STACK_RESERVE 4096

// For fork_switch.S.
int hrt_fork_thread(struct hrt_forking *forking);
void hrt_fork_wait(struct hrt_slot *slot);

_Static_assert(offsetof(struct hrt_slot, child) == 48, "fork_switch.S knows where it is");

// In place of a child's start: the child sleeps on the lower half of the pointer, where no start begins with
// this.
#define HRT_CHILD_AWAITED ((struct hrt_child *)1)

HRT_BARE static inline uint32_t *low_half(struct hrt_child **child) { return (uint32_t *)(void *)child; }

// A frame and its copy.
struct copy {
    uintptr_t from, to; // lowest addresses
    size_t bytes;       // without the owner
};

// Whether something points into the frame.
HRT_BARE static inline bool is_inside(const struct copy *copy, uintptr_t value) {
    return value - copy->from < copy->bytes;
}

// What `value` is in the copy.
HRT_BARE static uintptr_t moved(const struct copy *copy, uintptr_t value) {
    return is_inside(copy, value) ? value - copy->from + copy->to : value;
}

// The pointer to behind the return address, see above.
HRT_BARE static void redirect(uintptr_t *words, size_t base, uintptr_t frame, uintptr_t child_frame) {
    uintptr_t back = ((const uintptr_t *)frame)[1];
    for (size_t i = 1; i <= ALIGNED_CALLER_WORDS && i <= base; i++) {
        uintptr_t value = words[base - i];
        bool above = value > frame + 16 && value - frame <= 1024 && value % 8 == 0;
        if (above && ((const uintptr_t *)value)[-1] == back) {
            words[base - i] = child_frame + 16;
        }
    }
}

// Prepares a child but for the words below the frame pointer.
HRT_BARE __attribute__((always_inline)) static inline void begin_child(struct hrt_child *child, uintptr_t top,
                                                                       void *place,
                                                                       const struct hrt_registers *registers,
                                                                       void (*end)(void), void *owner) {
    size_t bytes = hrt_frame_bytes(registers), below = registers->rbp - registers->rsp;
    struct copy copy = {.from = registers->rsp, .to = top - bytes, .bytes = bytes - sizeof(uintptr_t)};
    copy.to -= (copy.to - copy.from) % FRAME_ALIGN;
    uintptr_t *last = (uintptr_t *)((place ? (uintptr_t)place : copy.to) + below);
    last[0] = *(const uintptr_t *)registers->rbp;
    last[1] = (uintptr_t)end;
    last[2] = (uintptr_t)owner;
    child->registers = *registers;
    child->registers.rsp = copy.to;
    child->registers.rbp = copy.to + below;
    uintptr_t *saved = child->registers.saved;
#pragma GCC unroll 5
    for (int i = 0; i < 5; i++) {
        if (HRT_UNLIKELY(is_inside(&copy, saved[i]))) {
            saved[i] = moved(&copy, saved[i]);
        }
    }
    child->words = 0;
    if (place) {
        child->source = place;
        child->words = bytes / sizeof(uintptr_t);
    }
}

// Copies the words below the frame pointer to `words`.
HRT_BARE static void copy_words(const struct hrt_child *child, const struct hrt_registers *registers,
                                uintptr_t *words) {
    size_t bytes = hrt_frame_bytes(registers), below = registers->rbp - registers->rsp;
    struct copy copy = {registers->rsp, child->registers.rsp, bytes - sizeof(uintptr_t)};
    const uintptr_t *original = (const uintptr_t *)copy.from;
    for (size_t i = 0; i < below / sizeof(uintptr_t); i++) {
        words[i] = moved(&copy, original[i]);
    }
    redirect(words, below / sizeof(uintptr_t), registers->rbp, child->registers.rbp);
}

HRT_BARE void hrt_frame_copy(struct hrt_child *child, uintptr_t top, void *place,
                             const struct hrt_registers *registers, void (*end)(void), void *owner) {
    begin_child(child, top, place, registers, end, owner);
    copy_words(child, registers, place ? place : (uintptr_t *)child->registers.rsp);
}

// The largest frame whose copy fits below the slot, in the room that its loop leaves there.
#define NEAR_BYTES (HRT_SLOT_FORK_BYTES - FRAME_ALIGN - sizeof(struct hrt_child))

// The largest frame that a stack takes.
HRT_BARE static size_t far_bytes(const struct hrt_thread_attr *attr) {
    uint64_t stack_bytes = attr ? attr->stack_bytes : HRT_STACK_DEFAULT;
    return stack_bytes > STACK_RESERVE ? (stack_bytes - STACK_RESERVE) / 2 : 0;
}

// The copy of a larger frame goes to the far end until the child has left the slot's loop: in between a
// signal's handler may run below that.
HRT_BARE static struct hrt_child *copy_to_far_end(hrt_thread_t thread, struct hrt_slot *slot,
                                                  const struct hrt_registers *registers) {
    struct hrt_thread_info info;
    hrt_thread_info(thread, &info);
    struct hrt_child *child =
        (struct hrt_child *)((info.stack_bottom + FRAME_ALIGN) & -(uintptr_t)FRAME_ALIGN);
    hrt_frame_copy(child, (uintptr_t)slot, child + 1, registers, hrt_fork_thread_end, slot);
    return child;
}

// Looks at a child's start before it sleeps until that is there: its parent is writing it.
#define CHILD_LOOKS 200

HRT_BARE void hrt_fork_wait(struct hrt_slot *slot) {
    for (int looks = 0; looks < CHILD_LOOKS; looks++) {
        if (__atomic_load_n(&slot->child, __ATOMIC_ACQUIRE)) {
            return;
        }
        __builtin_ia32_pause();
    }
    struct hrt_child *none = NULL;
    bool sleeps = __atomic_compare_exchange_n(&slot->child, &none, HRT_CHILD_AWAITED, false, __ATOMIC_ACQUIRE,
                                              __ATOMIC_ACQUIRE);
    while (sleeps && __atomic_load_n(&slot->child, __ATOMIC_ACQUIRE) == HRT_CHILD_AWAITED) {
        hrt_calls->wait(low_half(&slot->child), (uint32_t)(uintptr_t)HRT_CHILD_AWAITED, HRT_FOREVER,
                        HRT_WAIT_NO_INTR);
    }
}

HRT_BARE __attribute__((noinline)) static int wake_child(struct hrt_slot *slot) {
    hrt_calls->wake(low_half(&slot->child), 1, HRT_WAKE_KICK);
    return HRT_OK;
}

// Gives a child what it starts from.
HRT_BARE static inline int give(struct hrt_slot *slot, struct hrt_child *child) {
    struct hrt_child *before = __atomic_exchange_n(&slot->child, child, __ATOMIC_ACQ_REL);
    return HRT_UNLIKELY(before == HRT_CHILD_AWAITED) ? wake_child(slot) : HRT_OK;
}

HRT_BARE __attribute__((noinline)) static int copy_and_give(struct hrt_slot *slot, struct hrt_child *child,
                                                            const struct hrt_registers *registers) {
    copy_words(child, registers, (uintptr_t *)child->registers.rsp);
    return give(slot, child);
}

// The arguments of hrt_fork_frame().
HRT_BARE static inline const struct hrt_thread_attr *attr_of(const struct hrt_forking *forking) {
    return (const struct hrt_thread_attr *)forking->arguments[0];
}
HRT_BARE static inline hrt_thread_t *out_of(const struct hrt_forking *forking) {
    return (hrt_thread_t *)forking->arguments[1];
}
HRT_BARE static inline bool fits(const struct hrt_forking *forking, size_t most) {
    return hrt_frame_fits(&forking->registers, forking->arguments[2], most);
}

// The second half of a fork. Everything that needs many registers is behind calls from which this does not
// come back.
HRT_BARE static inline int start_child(const struct hrt_registers *registers, struct hrt_slot *slot) {
    struct hrt_child *child = (struct hrt_child *)((uintptr_t)slot - HRT_SLOT_FORK_BYTES);
    begin_child(child, (uintptr_t)slot, NULL, registers, hrt_fork_thread_end, slot);
    return registers->rsp != registers->rbp ? copy_and_give(slot, child, registers) : give(slot, child);
}

// Makes the slot that a child needs, and tries again.
HRT_BARE __attribute__((noinline)) static struct hrt_reserved make_child_again(struct hrt_forking *forking,
                                                                               uintptr_t status) {
    struct hrt_reserved made = {.stack = status};
    while (!made.thread && made.stack == HRT_ENOSPC) {
        status = (uintptr_t)hrt_slot_make(&forking->need);
        if (status != HRT_OK) {
            return (struct hrt_reserved){.stack = status};
        }
        made = hrt_calls->thread_fork(attr_of(forking), hrt_fork_resume, &forking->need);
    }
    return made;
}

// The table's thread_fork(), with a slot made if there is none.
HRT_BARE static inline struct hrt_reserved make_child(struct hrt_forking *forking) {
    struct hrt_reserved made = hrt_calls->thread_fork(attr_of(forking), hrt_fork_resume, &forking->need);
    if (HRT_UNLIKELY(!made.thread)) {
        made = make_child_again(forking, made.stack);
    }
    if (made.thread && out_of(forking)) {
        *out_of(forking) = made.thread;
    }
    return made;
}

// Forks with a larger frame.
HRT_BARE __attribute__((noinline)) static int fork_large(struct hrt_forking *forking) {
    if (!fits(forking, far_bytes(attr_of(forking)))) {
        return HRT_EINVAL;
    }
    struct hrt_reserved made = make_child(forking);
    if (!made.thread) {
        return (int)made.stack;
    }
    struct hrt_slot *slot = hrt_slot_of(made.stack);
    return give(slot, copy_to_far_end(made.thread, slot, &forking->registers));
}

HRT_BARE int hrt_fork_thread(struct hrt_forking *forking) {
    if (HRT_UNLIKELY(!fits(forking, NEAR_BYTES))) {
        return fork_large(forking);
    }
    struct hrt_reserved made = make_child(forking);
    if (HRT_UNLIKELY(!made.thread)) {
        return (int)made.stack;
    }
    return start_child(&forking->registers, hrt_slot_of(made.stack));
}
