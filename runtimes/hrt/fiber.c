// SPDX-License-Identifier: Apache-2.0 OR MIT
// Fibers: a ring of ready ones for each thread, the running one among them; a switch goes to the next.
// Nothing here is shared between threads but the pool of stacks (fiber_pool.c).
#include "fiber.h"

#include <pthread.h>
#include <stdlib.h>

// What a fork may leave of its child's stack at least.
#define STACK_RESERVE 4096u

// The C++ run-time's note of exceptions in flight, if the program has one: two words, of which it uses twelve
// bytes (struct __cxa_eh_globals of the C++ ABI).
__attribute__((weak)) void *__cxa_get_globals(void);

// For fiber_switch.S.
_Noreturn void hrt_fiber_main(struct hrt_fiber *self);
_Noreturn void hrt_fiber_end(struct hrt_fiber *self, void *result);
int hrt_fork_fiber(const struct hrt_forking *forking);

// Threads that libhrt did not make tell their end by this.
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end;

// --- lists

static void ring_insert_before(struct hrt_fiber *place, struct hrt_fiber *fiber) {
    fiber->next = place;
    fiber->previous = place->previous;
    place->previous->next = fiber;
    place->previous = fiber;
}

static void ring_remove(struct hrt_fiber *fiber) {
    fiber->previous->next = fiber->next;
    fiber->next->previous = fiber->previous;
}

static void family_insert(struct hrt_fibers *fibers, struct hrt_fiber *creator, struct hrt_fiber *child) {
    child->creator = creator;
    child->sibling_before = NULL;
    child->sibling = creator->children;
    if (child->sibling) {
        child->sibling->sibling_before = child;
    }
    creator->children = child;
    child->live_before = NULL;
    child->live = fibers->live;
    if (child->live) {
        child->live->live_before = child;
    }
    fibers->live = child;
}

static void family_remove(struct hrt_fibers *fibers, struct hrt_fiber *child) {
    if (child->creator) {
        *(child->sibling_before ? &child->sibling_before->sibling : &child->creator->children) =
            child->sibling;
        if (child->sibling) {
            child->sibling->sibling_before = child->sibling_before;
        }
    }
    *(child->live_before ? &child->live_before->live : &fibers->live) = child->live;
    if (child->live) {
        child->live->live_before = child->live_before;
    }
}

// --- the thread's side

static void end_thread(void *arg) {
    struct hrt_fibers *fibers = arg;
    while (fibers->live) {
        struct hrt_fiber *fiber = fibers->live;
        fibers->live = fiber->live;
        hrt_fiber_give(fibers, fiber);
    }
    hrt_fiber_flush(fibers);
    hrt_local.fibers = NULL;
    hrt_local.fibers_end = NULL;
    free(fibers);
}

static void end_slot_work(void) { end_thread(hrt_local.fibers); }

static void make_key(void) { pthread_key_create(&thread_end, end_thread); }

static struct hrt_fibers *begin(void) {
    struct hrt_fibers *fibers = calloc(1, sizeof *fibers);
    if (!fibers) {
        return NULL;
    }
    struct hrt_fiber *first = &fibers->first;
    first->next = first->previous = first;
    first->home = fibers;
    first->state = FIBER_READY;
    fibers->current = first;
    fibers->exceptions = __cxa_get_globals ? __cxa_get_globals() : fibers->no_exceptions;
    hrt_local.fibers = fibers;
    if (hrt_local.slot) {
        hrt_local.fibers_end = end_slot_work;
    } else {
        pthread_once(&once, make_key);
        pthread_setspecific(thread_end, fibers);
    }
    return fibers;
}

static struct hrt_fibers *own(void) { return hrt_local.fibers ? hrt_local.fibers : begin(); }

// --- making fibers

// What hrt_fiber_switch takes from a fiber's stack, from its stack pointer up.
struct start {
    uint32_t mxcsr;
    uint16_t x87, unused;
    uintptr_t r15, r14, r13, r12, rbx, rbp;
    uintptr_t rip;
};

static struct hrt_fiber *take(struct hrt_fibers *fibers, size_t stack_bytes) {
    struct hrt_fiber *fiber = fibers ? hrt_fiber_take(fibers, stack_bytes) : NULL;
    if (fiber) {
        fiber->exceptions[0] = fiber->exceptions[1] = 0;
        fiber->home = fibers;
        fiber->state = FIBER_READY;
        fiber->joins = fiber->joiner = fiber->children = NULL;
    }
    return fiber;
}

static uintptr_t top_of(const struct hrt_fiber *fiber) {
    // hrt_fiber_take() made it: the stack begins with a guard page of 4096 bytes.
    return (uintptr_t)fiber->stack + 4096 + fiber->stack_bytes;
}

// Enters the fiber into its thread's lists; its first switch finds `start` with the caller's control words.
static void begin_fiber(struct hrt_fibers *fibers, struct hrt_fiber *fiber, struct start *start) {
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(start->mxcsr), "=m"(start->x87));
    fiber->stack_pointer = start;
    family_insert(fibers, fibers->current, fiber);
    ring_insert_before(fibers->current, fiber);
}

int hrt_fiber_create(hrt_fiber_t **out, hrt_thread_fn fn, void *arg, size_t stack_bytes) {
    if (stack_bytes == 0) {
        stack_bytes = HRT_FIBER_STACK_DEFAULT;
    }
    if (!fn || stack_bytes < HRT_FIBER_STACK_MIN || stack_bytes > SIZE_MAX / 2) {
        return HRT_EINVAL;
    }
    struct hrt_fibers *fibers = own();
    struct hrt_fiber *fiber = take(fibers, (stack_bytes + 4095) & ~(size_t)4095);
    if (!fiber) {
        return HRT_ENOMEM;
    }
    fiber->fn = fn;
    fiber->arg = arg;
    // At hrt_fiber_start the stack is aligned as before a call.
    struct start *start = (struct start *)(top_of(fiber) - 16 - sizeof *start);
    *start = (struct start){.rbx = (uintptr_t)fiber, .rip = (uintptr_t)hrt_fiber_start};
    begin_fiber(fibers, fiber, start);
    if (out) {
        *out = fiber;
    }
    return HRT_OK;
}

// A forked fiber's stack: the copied frame, below it the word that hrt_fiber_start_fork returns to, then
// this.
int hrt_fork_fiber(const struct hrt_forking *forking) {
    hrt_fiber_t **out = (hrt_fiber_t **)forking->arguments[0];
    size_t stack_bytes = HRT_FIBER_STACK_DEFAULT;
    if (!hrt_frame_fits(&forking->registers, forking->arguments[1], stack_bytes - STACK_RESERVE)) {
        return HRT_EINVAL;
    }
    struct hrt_fibers *fibers = own();
    struct hrt_fiber *fiber = take(fibers, stack_bytes);
    if (!fiber) {
        return HRT_ENOMEM;
    }
    struct hrt_child child;
    hrt_frame_copy(&child, top_of(fiber), NULL, &forking->registers, hrt_fork_fiber_end, fiber);
    uintptr_t *resume = (uintptr_t *)child.registers.rsp - 1;
    *resume = child.registers.rip;
    struct start *start = (struct start *)resume - 1;
    *start = (struct start){
        .r15 = child.registers.saved[4],
        .r14 = child.registers.saved[3],
        .r13 = child.registers.saved[2],
        .r12 = child.registers.saved[1],
        .rbx = child.registers.saved[0],
        .rbp = child.registers.rbp,
        .rip = (uintptr_t)hrt_fiber_start_fork,
    };
    begin_fiber(fibers, fiber, start);
    if (out) {
        *out = fiber;
    }
    return HRT_OK;
}

// --- the fiber's side

_Noreturn void hrt_fiber_end(struct hrt_fiber *self, void *result) {
    struct hrt_fibers *fibers = self->home;
    self->result = result;
    self->state = FIBER_ENDED;
    for (struct hrt_fiber *child = self->children; child; child = child->sibling) {
        child->creator = NULL;
    }
    self->children = NULL;
    if (self->joiner) {
        self->joiner->state = FIBER_READY;
        ring_insert_before(self, self->joiner);
    }
    // Somebody is ready: a join that would leave nobody is refused.
    struct hrt_fiber *next = self->next;
    ring_remove(self);
    hrt_fiber_switch(self, next, fibers);
    __builtin_unreachable();
}

_Noreturn void hrt_fiber_main(struct hrt_fiber *self) { hrt_fiber_end(self, self->fn(self->arg)); }

_Noreturn void hrt_fiber_exit(void *result) {
    struct hrt_fibers *fibers = hrt_local.fibers;
    if (!fibers || fibers->current == &fibers->first) {
        hrt_thread_exit(result);
    }
    hrt_fiber_end(fibers->current, result);
}

hrt_fiber_t *hrt_fiber_self(void) {
    struct hrt_fibers *fibers = own();
    return fibers ? fibers->current : NULL;
}

int hrt_fiber_yield_to(hrt_fiber_t *fiber) {
    if (!fiber) {
        return HRT_EINVAL;
    }
    struct hrt_fibers *fibers = hrt_local.fibers;
    if (fiber->state == FIBER_FREE) {
        return HRT_ESRCH;
    }
    if (!fibers || fiber->home != fibers) {
        return HRT_EPERM;
    }
    if (fiber->state != FIBER_READY) {
        return fiber->state == FIBER_ENDED ? HRT_ESRCH : HRT_EBUSY;
    }
    struct hrt_fiber *self = fibers->current;
    if (fiber != self) {
        ring_remove(fiber);
        ring_insert_before(self->next, fiber);
        hrt_fiber_switch(self, fiber, fibers);
    }
    return HRT_OK;
}

// --- joining

static int may_join(const struct hrt_fibers *fibers, const struct hrt_fiber *fiber) {
    if (!fiber) {
        return HRT_EINVAL;
    }
    if (fiber->state == FIBER_FREE) {
        return HRT_ESRCH;
    }
    if (!fibers || fiber->home != fibers) {
        return HRT_EPERM;
    }
    if (fiber == fibers->current) {
        return HRT_EDEADLK;
    }
    if (fiber == &fibers->first) {
        // It ends with the thread.
        return HRT_EINVAL;
    }
    if (fiber->joiner) {
        return HRT_EBUSY;
    }
    // One that waits for the caller, perhaps through others, would wait for ever.
    for (const struct hrt_fiber *other = fiber; other; other = other->joins) {
        if (other == fibers->current) {
            return HRT_EDEADLK;
        }
    }
    return HRT_OK;
}

int hrt_fiber_join(hrt_fiber_t *fiber, void **result) {
    struct hrt_fibers *fibers = hrt_local.fibers;
    int status = may_join(fibers, fiber);
    if (status != HRT_OK) {
        return status;
    }
    struct hrt_fiber *self = fibers->current;
    if (fiber->state != FIBER_ENDED) {
        // The chain's last one is ready, so the ring does not become empty.
        fiber->joiner = self;
        self->joins = fiber;
        self->state = FIBER_JOINING;
        struct hrt_fiber *next = self->next;
        ring_remove(self);
        hrt_fiber_switch(self, next, fibers);
        self->joins = NULL;
    }
    if (result) {
        *result = fiber->result;
    }
    family_remove(fibers, fiber);
    hrt_fiber_give(fibers, fiber);
    return HRT_OK;
}

int hrt_fiber_join_all(void) {
    struct hrt_fibers *fibers = hrt_local.fibers;
    int status = HRT_OK;
    while (fibers && fibers->current->children) {
        struct hrt_fiber *child = fibers->current->children;
        // Another fiber joins it: its end is enough.
        if (child->joiner) {
            if (!hrt_fiber_yield()) {
                return HRT_EDEADLK;
            }
            continue;
        }
        status = hrt_fiber_join(child, NULL);
        if (status != HRT_OK) {
            return status;
        }
    }
    return HRT_OK;
}
