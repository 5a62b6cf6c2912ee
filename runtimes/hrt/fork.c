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
int hrt_fork_thread(const struct hrt_thread_attr *attr, hrt_thread_t *child, uintptr_t frame,
                    const struct hrt_registers *registers);

HRT_BARE size_t hrt_frame_bytes(uintptr_t frame, const struct hrt_registers *registers) {
    if (frame % sizeof(uintptr_t) != 0 || frame < registers->rsp || registers->rbp != frame) {
        return 0;
    }
    return frame + 3 * sizeof(uintptr_t) - registers->rsp;
}

// A frame and its copy.
struct copy {
    uintptr_t from, to; // lowest addresses
    size_t words;       // the owner's included
};

// What `value` is in the copy.
HRT_BARE static uintptr_t moved(const struct copy *copy, uintptr_t value) {
    uintptr_t offset = value - copy->from;
    return offset < (copy->words - 1) * sizeof(uintptr_t) ? copy->to + offset : value;
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

HRT_BARE static inline void copy_frame(struct hrt_child *child, uintptr_t top, void *place, uintptr_t frame,
                                       size_t bytes, const struct hrt_registers *registers, void (*end)(void),
                                       void *owner) {
    struct copy copy = {.from = registers->rsp, .to = top - bytes, .words = bytes / sizeof(uintptr_t)};
    copy.to -= (copy.to - copy.from) % FRAME_ALIGN;
    uintptr_t *words = place ? place : (uintptr_t *)copy.to;
    const uintptr_t *original = (const uintptr_t *)copy.from;
    size_t base = copy.words - 3;
    for (size_t i = 0; i < base; i++) {
        words[i] = moved(&copy, original[i]);
    }
    redirect(words, base, frame, moved(&copy, frame));
    words[base] = original[base];
    words[base + 1] = (uintptr_t)end;
    words[base + 2] = (uintptr_t)owner;
    child->registers = (struct hrt_registers){
        .rip = registers->rip,
        .rsp = copy.to,
        .rbp = moved(&copy, frame),
        .rbx = moved(&copy, registers->rbx),
        .r12 = moved(&copy, registers->r12),
        .r13 = moved(&copy, registers->r13),
        .r14 = moved(&copy, registers->r14),
        .r15 = moved(&copy, registers->r15),
    };
    child->source = place;
    child->words = place ? copy.words : 0;
}

HRT_BARE void hrt_frame_copy(struct hrt_child *child, uintptr_t top, void *place, uintptr_t frame,
                             size_t bytes, const struct hrt_registers *registers, void (*end)(void),
                             void *owner) {
    copy_frame(child, top, place, frame, bytes, registers, end, owner);
}

// The far end of a thread's stack.
HRT_BARE static struct hrt_child *far_end(hrt_thread_t thread) {
    struct hrt_thread_info info;
    hrt_thread_info(thread, &info);
    return (struct hrt_child *)((info.stack_bottom + FRAME_ALIGN) & -(uintptr_t)FRAME_ALIGN);
}

// Writes the child's start into the free stack of a slot: right below the slot if it fits in the room that
// its loop leaves there. A larger frame goes to the far end until the loop has left the stack to it: in
// between a signal's handler may run there.
HRT_BARE static struct hrt_child *prepare(const struct hrt_reserved *reserved, uintptr_t frame, size_t bytes,
                                          const struct hrt_registers *registers) {
    struct hrt_slot *slot = hrt_slot_at(reserved->stack);
    uintptr_t top = (uintptr_t)slot;
    struct hrt_child *child = (struct hrt_child *)(top - HRT_SLOT_FORK_BYTES);
    if (HRT_UNLIKELY(bytes + FRAME_ALIGN + sizeof *child > HRT_SLOT_FORK_BYTES)) {
        child = far_end(reserved->thread);
        hrt_frame_copy(child, top, child + 1, frame, bytes, registers, hrt_fork_thread_end, slot);
    } else {
        copy_frame(child, top, NULL, frame, bytes, registers, hrt_fork_thread_end, slot);
    }
    return child;
}

HRT_BARE int hrt_fork_thread(const struct hrt_thread_attr *attr, hrt_thread_t *child, uintptr_t frame,
                             const struct hrt_registers *registers) {
    size_t bytes = hrt_frame_bytes(frame, registers);
    uint64_t stack_bytes = attr ? attr->stack_bytes : HRT_STACK_DEFAULT;
    if (bytes == 0 || stack_bytes < STACK_RESERVE || bytes > (stack_bytes - STACK_RESERVE) / 2) {
        return HRT_EINVAL;
    }
    struct hrt_reserved reserved = hrt_thread_reserve(attr);
    if (!reserved.thread) {
        return (int)reserved.stack;
    }
    if (child) {
        *child = reserved.thread;
    }
    return hrt_calls->thread_start(reserved.thread, hrt_fork_resume,
                                   prepare(&reserved, frame, bytes, registers));
}
