/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the files of libhrt share. Programs never include it. */
#ifndef HRT_INTERNAL_H
#define HRT_INTERNAL_H

#include <hadal/hrt.h>

/* The table that this library falls back to when the kernel offers none: libhrt.a has none (kernel/place.c),
 * libhrt-linux.a has the one of pthreads (linux/table.c). Returns NULL after saying what to do. */
const struct hrt_calls *hrt_place_table(void);

/* --- thread-local data: tls.c
 * ------------------------------------------------------------------------------------------ */

struct hrt_slot;
struct hrt_fibers;
struct hrt_child;

/* A set of several CPUs, but not all. */
#define HRT_PTHREAD_CPUS_OTHER UINT32_MAX

/* What libhrt-pthread keeps of a thread (pthread/thread.h); it is zero for threads that it did not make. */
struct hrt_pthread {
    uint32_t life;             /* enum hrt_pthread_life */
    uint32_t joiner;           /* 1: somebody joins it */
    uint32_t ends;             /* 1: it has called pthread_exit(); else an unwinding is a cancellation */
    uint32_t ending;           /* 1: its destructors run, or have; it cannot be cancelled any more */
    uint32_t spoilt;           /* 1: something of its libc thread is not as in a new one: use it once only */
    uint32_t cpus;             /* where it may run: 0 anywhere, n + 1 on CPU n, or HRT_PTHREAD_CPUS_OTHER */
    uint32_t is_slot;          /* 1: runs on a slot; the fields below matter */
    hrt_thread_t thread;       /* its name in hadal/hrt.h */
    int cancel_state;          /* as pthread_setcancelstate() has left it */
    int cancel_type;           /* as pthread_setcanceltype() */
    const uint32_t *waits_on;  /* the word it sleeps on at a cancellation point */
    struct hrt_pthread *joins; /* whom it joins */
    void *(*start)(void *arg);
    void *arg;
    void *result;
};

/* All thread-local data of libhrt: the only such variable, because its address is the border between the
 * program's and the libraries'. Bare threads have none. slot_switch.S and fiber_switch.S know the offsets. */
struct hrt_local {
    struct hrt_slot *slot;      /* the slot that the thread is, or NULL */
    struct hrt_fibers *fibers;  /* its fibers, once it has any (fiber.c) */
    void (*fibers_end)(void);   /* then, too: what to call when its work ends */
    void *linux_thread;         /* its record in linux/thread.c */
    void (*exit)(void *result); /* what hrt_thread_exit() calls in a thread of libhrt-pthread */
    void *leaves;               /* the result of a thread that leaves its slot for good */
    bool works;                 /* it is the worker of a CPU (task.c) */
    struct hrt_pthread pthread;
};
extern __thread struct hrt_local hrt_local __attribute__((tls_model("initial-exec")));

/* Finds the program's own thread-local data: before any thread is made how large it is, and in a static
 * program where; else (hrt_tls_may_grow: libraries may be loaded) hrt_tls_find() has to follow in a thread
 * that has just begun. */
void hrt_tls_start(void);
extern bool hrt_tls_may_grow;
void hrt_tls_find(void);
/* Whether hrt_tls_reset() resets all that the calling thread has. */
bool hrt_tls_can_reset(void);
/* There may be something to reset. */
extern bool hrt_tls_must_reset;
/* Gives the calling thread's copy of it the initial values again. */
void hrt_tls_reset(void);
/* Bytes of a thread's stack that its thread-local data takes, libc's own structures included. */
size_t hrt_tls_stack_bytes(void);

/* --- slots: slot.c, slot_switch.S
 * -------------------------------------------------------------------------------------- */

/* A slot is at a multiple of HRT_SLOT_ALIGN near the top of its stack. Its loop runs HRT_SLOT_FORK_BYTES
 * below, so that the frame of a forked function fits in between, out of reach of a signal's frame. */
#define HRT_SLOT_ALIGN 1024u
#define HRT_SLOT_FORK_BYTES 512u

struct hrt_slot {
    uintptr_t exit_stack;  /* stack pointer of hrt_slot_run's caller; slot_switch.S knows the offset */
    struct hrt_slot *self; /* for hrt_slot_at: an address is a slot's if this is there */
    struct hrt_slot_kind kind;
    struct hrt_local *local; /* of its thread; NULL in a bare one */
    int *error;              /* its errno; NULL in a bare one */
    /* What a forked child that runs here starts from, once its parent has written that; NULL or
     * HRT_CHILD_AWAITED before. fork_switch.S knows the offset. */
    struct hrt_child *child;
    uint32_t care; /* HRT_SLOT_*: what is behind its work */
};

/* Nothing but libc's and libhrt's own cleaning; no libc; something has run in a program that may load
 * libraries. */
enum { HRT_SLOT_PLAIN, HRT_SLOT_BARE, HRT_SLOT_CHECKED };

/* Code that bare threads run: they have no thread-local data, where stack protectors keep their value. */
#define HRT_BARE __attribute__((no_stack_protector))

/* Makes the calling thread a slot; returns when it must end. */
void hrt_slot_run(const struct hrt_slot_kind *kind);
/* The same on a thread of libc's, also ready to be cancelled: what its start routine does. */
void *hrt_slot_thread(const struct hrt_slot_kind *kind);
/* The slot whose loop waits with this stack pointer. */
static inline struct hrt_slot *hrt_slot_of(uintptr_t stack) {
    return (struct hrt_slot *)((stack & ~(uintptr_t)(HRT_SLOT_ALIGN - 1)) + HRT_SLOT_ALIGN);
}
/* The same for any address on a thread's stack; NULL if there is none. */
static inline struct hrt_slot *hrt_slot_at(uintptr_t stack) {
    struct hrt_slot *slot = hrt_slot_of(stack);
    return slot->self == slot ? slot : NULL;
}
/* Ends the slot's work with `result`, whatever is on the stack, and takes the next. */
_Noreturn void hrt_slot_restart(struct hrt_slot *slot, void *result);
/* Runs the destructors of the calling thread's values of keys. */
void hrt_keys_clean(void);

/* pthread_create of libc itself. In an image whose program gets libhrt's pthread functions, libhrt-pthread
 * defines this in place of libc_thread.c. */
int hrt_libc_thread_create(void *thread, const void *attr, void *(*start)(void *), void *arg);

/* --- forked frames: fork.c, fork_switch.S
 * ------------------------------------------------------------------------------ */

/* Registers of a function at its call of a fork function; the switch files know the order. */
struct hrt_registers {
    uintptr_t rip, rsp, rbp;
    uintptr_t saved[5]; /* rbx, r12 to r15 */
};

/* A call of a fork function; fork_macros.h knows the order. */
struct hrt_forking {
    struct hrt_registers registers;
    uintptr_t arguments[3];
    struct hrt_slot_kind need; /* room for the slot that a thread's child needs */
};

/* What a forked child starts from. */
struct hrt_child {
    struct hrt_registers registers; /* of the child */
    const void *source;             /* copy of the frame that is not in its place yet */
    uintptr_t words;                /* of it; 0: it is */
};

/* Bytes that a frame takes in the child, the owner's pointer above it included. */
static inline size_t hrt_frame_bytes(const struct hrt_registers *registers) {
    return registers->rbp + 3 * sizeof(uintptr_t) - registers->rsp;
}
/* Whether the frame is where the caller says, and takes up to `most` bytes in the child. */
static inline bool hrt_frame_fits(const struct hrt_registers *registers, uintptr_t frame, size_t most) {
    uintptr_t below = frame - registers->rsp;
    /* Rotated: bits of less than a word, and those of a negative number, make it too many words. */
    uintptr_t words = below >> 3 | below << 61;
    uintptr_t limit = most / sizeof(uintptr_t);
    return registers->rbp == frame && limit >= 3 && words <= limit - 3;
}
/* Prepares a child that runs in a copy of the caller's frame below `top` and, when the function returns, goes
 * on at `end` with `owner` on top of the stack. `place` is where the copy is written: NULL, or memory from
 * which hrt_fork_resume() moves it. */
void hrt_frame_copy(struct hrt_child *child, uintptr_t top, void *place,
                    const struct hrt_registers *registers, void (*end)(void), void *owner);
/* Continues the child whose slot waits with this stack pointer; a thread function as far as the kernel knows.
 */
void *hrt_fork_resume(void *stack);
/* Where a forked function of a thread returns to. */
void hrt_fork_thread_end(void);

/* --- saying things
 * ------------------------------------------------------------------------------------------------- */

/* Writes the strings up to a NULL to standard error, with nothing but write(2): usable before libc is. */
void hrt_say(const char *text, ...) __attribute__((sentinel));
/* The same, then ends the process with status 127. */
_Noreturn void hrt_die(const char *text, ...) __attribute__((sentinel));

#endif
