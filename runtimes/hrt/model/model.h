/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What a scenario is: a setup, up to four threads, and a look at the end. The checker runs it under every
 * schedule and every value that a load may read, within the scenario's bounds, and reports a failed
 * model_check(), a data race on MODEL_GET/MODEL_SET data, an access to retired memory, and threads that all
 * wait for ever.
 */
#ifndef HADAL_RUNTIMES_HRT_MODEL_MODEL_H
#define HADAL_RUNTIMES_HRT_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MODEL_THREADS 4

/* Faults that a scenario puts into the code under test, to show that the checker finds them. */
enum model_fault {
    MODEL_SOUND = 0,
    MODEL_RELEASE_RELAXED = 1, /* release stores, exchanges and fences order nothing */
    MODEL_ACQUIRE_RELAXED = 2, /* acquire loads and exchanges order nothing */
    MODEL_NO_FENCE = 4,        /* sequentially consistent fences are left out */
    MODEL_NO_WAKE = 8,         /* hrt_wake() wakes nobody */
    MODEL_NO_DEADLINE = 16     /* deadlines never pass */
};

/* Time stands still at 0. A deadline may pass at any time; by one that is so far away or farther, every store
 * has been seen by all. */
#define MODEL_LONG_NS 1000000u

struct model_scenario {
    const char *name;
    void (*setup)(void);
    void (*threads[MODEL_THREADS])(void);
    void (*finish)(void);
    unsigned preemptions; /* most switches away from a thread that could go on; 0: any number */
    unsigned interrupts;  /* most waits ended by a signal, per run */
    unsigned spins;       /* how often a waiter looks before it sleeps */
    unsigned fault;       /* enum model_fault */
    const char *expected; /* what must be reported (a part of the text); NULL: nothing */
};

/* Ended by an entry without a name; one table for each file of scenarios. */
extern const struct model_scenario model_lock_scenarios[];
extern const struct model_scenario model_wait_scenarios[];
extern const struct model_scenario model_barrier_scenarios[];
extern const struct model_scenario model_task_scenarios[];
extern const struct model_scenario model_openmp_scenarios[];
extern const struct model_scenario model_fault_scenarios[];

void model_fail(const char *text);
#define MODEL_TEXT(x) #x
#define MODEL_LINE(x) MODEL_TEXT(x)
#define model_check(condition)                                                                               \
    ((condition) ? (void)0 : model_fail(__FILE__ ":" MODEL_LINE(__LINE__) ": " #condition))

/* Accesses to data that a lock should protect. */
void model_read(const void *data);
void model_write(const void *data);
#define MODEL_GET(data) (model_read(&(data)), (data))
#define MODEL_SET(data, value) (model_write(&(data)), (void)((data) = (value)))

/* The memory has been freed: whoever touches it from now on is wrong. */
void model_retire(const void *memory, size_t bytes);
/* Index of the running thread, from 0. */
unsigned model_self(void);

#ifdef __cplusplus
}
#endif

#endif
