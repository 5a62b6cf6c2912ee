/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Tasks: run-to-completion functions on per-CPU queues. A CPU runs its own newest first; a CPU without work
 * steals the oldest of another. They run on libhrt's worker threads (one per CPU, less urgent than every
 * other thread, started with the first task) and on threads that wait for a task. A task may use libc and may
 * wait, but what it waits for must not be another task unless it waits with hrt_task_wait(), which runs
 * others meanwhile. A task ends by returning, not by hrt_thread_exit().
 */
#ifndef HADAL_HRT_TASK_H
#define HADAL_HRT_TASK_H

#include "calls.h"
#include "layout/task.h"

HRT_BEGIN

typedef struct hrt_task hrt_task_t;

#define HRT_TASK_SIZE_UNKNOWN 0u

/*
 * Submits fn(arg) to the queue of `cpu` (HRT_CPU_ANY: the caller's; an idle CPU will take it). `size_hint` is
 * the expected time in ns or HRT_TASK_SIZE_UNKNOWN: a task too small to be worth a move is left to its own
 * CPU, unless larger ones were submitted behind it. When the queue is full the task runs before this returns.
 * HRT_EINVAL: no such CPU; HRT_EBUSY: the task is queued already.
 */
int hrt_task_submit(hrt_task_t *task, hrt_thread_fn fn, void *arg, int32_t cpu, uint32_t size_hint);
/* Waits until the task is done, running others meanwhile, and gives its result (`result` may be NULL).
 * HRT_EINVAL: it was never submitted; HRT_EDEADLK: the caller is running it. */
int hrt_task_wait(hrt_task_t *task, void **result);
/* Whether the task is done: never waits. */
bool hrt_task_done(const hrt_task_t *task);
/* Runs one queued task if there is one; for loops that wait for something else. */
bool hrt_task_run_one(void);
/* Tasks waiting and done since the start, over all CPUs. */
struct hrt_task_counters {
    uint64_t submitted, run_locally, stolen, run_inline;
};
void hrt_task_counters(struct hrt_task_counters *counters);

HRT_END

#endif
