/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the files about fibers share. */
#ifndef HRT_FIBER_INTERNAL_H
#define HRT_FIBER_INTERNAL_H

#include "internal.h"

enum fiber_state {
    FIBER_FREE = 0, /* of the pool; memory of fibers is never given back, so that old handles can be told */
    FIBER_READY,    /* running, or in the ring */
    FIBER_JOINING,  /* until `joins` has ended */
    FIBER_ENDED
};

/* fiber_switch.S knows the first fields' offsets. */
struct hrt_fiber {
    void *stack_pointer;        /* while it does not run */
    struct hrt_fiber *next;     /* in the thread's ring of ready fibers, which the running one is part of */
    uint64_t exceptions[2];     /* the C++ run-time's state of the thread, as the fiber left it */
    struct hrt_fiber *previous; /* in the ring */
    struct hrt_fibers *home;    /* of its thread; NULL: free */
    uint32_t state;             /* enum fiber_state */
    char *stack;                /* lowest address, a guard page; NULL: the thread's own */
    size_t stack_bytes;         /* without the guard */
    hrt_thread_fn fn;
    void *arg;
    void *result;
    struct hrt_fiber *joins, *joiner;
    struct hrt_fiber *creator;                             /* NULL: gone */
    struct hrt_fiber *children, *sibling, *sibling_before; /* not joined yet, newest first */
    struct hrt_fiber *live, *live_before;                  /* of the thread */
    struct hrt_fiber *next_free;
};

/* The fibers of one thread. fiber_switch.S knows the first fields' offsets. */
struct hrt_fibers {
    struct hrt_fiber *current;
    uint64_t *exceptions; /* the C++ run-time's state of the thread, two words; of no use without C++ */
    uint64_t no_exceptions[2];
    struct hrt_fiber first;  /* the thread itself */
    struct hrt_fiber *cache; /* free ones, with their stacks */
    struct hrt_fiber *live;  /* all but the first */
};

/* A free fiber with a stack of that size; NULL: no memory. */
struct hrt_fiber *hrt_fiber_take(struct hrt_fibers *fibers, size_t stack_bytes);
/* Back into the thread's cache. */
void hrt_fiber_give(struct hrt_fibers *fibers, struct hrt_fiber *fiber);
/* Empties the thread's cache into the pool of the process. */
void hrt_fiber_flush(struct hrt_fibers *fibers);

/* fiber_switch.S: leaves `from`, the running fiber, for `to`; returns when somebody switches back. */
void hrt_fiber_switch(struct hrt_fiber *from, struct hrt_fiber *to, struct hrt_fibers *fibers);
/* Where a new fiber starts; where a forked one does, and where its function returns to. */
void hrt_fiber_start(void);
void hrt_fiber_start_fork(void);
void hrt_fork_fiber_end(void);

#endif
