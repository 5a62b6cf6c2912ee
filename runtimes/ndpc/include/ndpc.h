/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The run-time of NDPC for programs in C and C++: threads as NDPC was published with, sequences that
 * translated functions take and give, and failures.
 *
 * Functions return 0, or one of `enum hrt_status` of hadal/hrt.h.
 */
#ifndef NDPC_H
#define NDPC_H

#include <hadal/hrt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Names a thread; 0 names none. */
typedef hrt_thread_t ndpc_thread_t;

/* Starts the run-time with so many workers (0: one for each CPU), or with a thread for each element. Without
 * this call the first translated function starts it, with the defaults. */
int ndpc_init(uint32_t workers, bool one_thread_per_element);
/* Ends the workers. No translated function may be running. */
void ndpc_shutdown(void);

/* What a thread does: it gets the input and gives what joining it returns, unless it sets another result. */
typedef void *(*ndpc_thread_fn)(void *input);

/* Creates a thread. `cpu`: where it is bound to, or HRT_CPU_ANY; `stack_bytes` 0: the default. */
int ndpc_thread_create(ndpc_thread_t *thread, ndpc_thread_fn fn, void *input, int32_t cpu,
                       uint64_t stack_bytes);

/* Forks the calling thread: gives the parent the child's name, the child its own, and 0 when there is no
 * child. The child goes on in a copy of the calling function's frame and ends where that function returns;
 * what it returns (an integer or a pointer) is its result. See hrt_thread_fork() for what such a function may
 * do. */
#define ndpc_fork()                                                                                          \
    __extension__({                                                                                          \
        ndpc_thread_t ndpc_child_ = 0;                                                                       \
        int ndpc_status_ = hrt_thread_fork(ndpc_fork_attr(), &ndpc_child_);                                  \
        ndpc_forked(ndpc_status_, ndpc_child_);                                                              \
    })
/* Of ndpc_fork(). */
const struct hrt_thread_attr *ndpc_fork_attr(void);
ndpc_thread_t ndpc_forked(int status, ndpc_thread_t child);

ndpc_thread_t ndpc_thread_self(void);
/* Who created or forked the caller; 0: nobody of this interface. */
ndpc_thread_t ndpc_thread_parent(void);
void ndpc_thread_yield(void);
/* Sets what joining the caller returns. HRT_ENOMEM. */
int ndpc_thread_set_result(void *result);
/* Waits for a thread's end; `result` may be NULL. */
int ndpc_thread_join(ndpc_thread_t thread, void **result);
/* Waits for all threads that the caller has created or forked and not joined. */
int ndpc_thread_join_children(void);

/* Waits until as many threads have come as there are CPUs. */
int ndpc_barrier(void);

/* Critical sections: only one thread of the machine is in the global one, only one thread of each CPU in that
 * CPU's local one. A thread may enter again what it is in; each enter needs its leave. HRT_EPERM: not inside.
 */
int ndpc_enter_global(void);
int ndpc_leave_global(void);
int ndpc_enter_local(void);
int ndpc_leave_local(void);

/* Sequences of scalars, in calls from C. */
typedef struct {
    int *items;
    int64_t count;
} ndpc_ints;
typedef struct {
    double *items;
    int64_t count;
} ndpc_floats;
typedef struct {
    bool *items;
    int64_t count;
} ndpc_bools;
typedef struct {
    char *items;
    int64_t count;
} ndpc_chars;

/* Frees the items of a result. */
void ndpc_free(void *items);
/* Why the calling thread's last translated function failed, in two lines; "" if none did. */
const char *ndpc_failure_text(void);

#ifdef __cplusplus
}
#endif

#endif
