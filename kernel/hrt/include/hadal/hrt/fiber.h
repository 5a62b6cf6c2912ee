/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Fibers: cooperative threads inside a thread, thousands of them, switched without the kernel. A fiber
 * belongs to the thread that created it and runs on that thread only; all fibers of a thread share its
 * thread-local data. Stacks are cached per thread.
 */
#ifndef HADAL_HRT_FIBER_H
#define HADAL_HRT_FIBER_H

#include "calls.h"

HRT_BEGIN

typedef struct hrt_fiber hrt_fiber_t;

#define HRT_FIBER_STACK_DEFAULT (32u << 10)
#define HRT_FIBER_STACK_MIN (8u << 10)

/* Makes a fiber that will run fn(arg) when the thread yields to it; it joins the end of the thread's ring of
 * ready fibers. `stack_bytes` 0: HRT_FIBER_STACK_DEFAULT. HRT_ENOMEM, HRT_EINVAL (stack too small). */
int hrt_fiber_create(hrt_fiber_t **fiber, hrt_thread_fn fn, void *arg, size_t stack_bytes);
/* Forks the calling function's frame into a fiber, as hrt_thread_fork() does into a thread; same results. */
int hrt_fiber_fork_frame(hrt_fiber_t **child, void *frame);
#define hrt_fiber_fork(child) hrt_forked(hrt_fiber_fork_frame((child), __builtin_frame_address(0)))
/* Runs the next ready fiber of the thread; returns false at once if there is none. */
bool hrt_fiber_yield(void);
/* Runs that fiber next. HRT_ESRCH: it has ended; HRT_EPERM: another thread's. */
int hrt_fiber_yield_to(hrt_fiber_t *fiber);
/* Waits, running other fibers, until the fiber has ended, gives its result and frees it. HRT_EDEADLK:
 * oneself, or every other fiber waits too; HRT_EBUSY: another fiber joins it; HRT_EPERM: another thread's. */
int hrt_fiber_join(hrt_fiber_t *fiber, void **result);
/* Joins every fiber that the calling fiber created or forked. */
int hrt_fiber_join_all(void);
/* Ends the calling fiber. The thread's first fiber is the thread: there it is hrt_thread_exit(). */
__attribute__((noreturn)) void hrt_fiber_exit(void *result);
/* The running fiber; the thread itself counts as one. */
hrt_fiber_t *hrt_fiber_self(void);

HRT_END

#endif
