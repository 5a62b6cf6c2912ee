// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The interface for tools, as far as the test programs use it (OpenMP 5.2, chapter 19): gcc has no header.

#ifndef HADAL_TEST_OMPT_TOOL_H
#define HADAL_TEST_OMPT_TOOL_H

#include <stddef.h>
#include <stdint.h>

typedef union {
    uint64_t value;
    void *ptr;
} ompt_data_t;

typedef struct {
    ompt_data_t exit_frame, enter_frame;
    int exit_frame_flags, enter_frame_flags;
} ompt_frame_t;

typedef void (*ompt_function_t)(void);
typedef ompt_function_t (*ompt_lookup_t)(const char *name);
typedef struct {
    int (*initialize)(ompt_lookup_t lookup, int device, ompt_data_t *data);
    void (*finalize)(ompt_data_t *data);
    ompt_data_t tool_data;
} ompt_start_tool_result_t;

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime);

enum {
    THREAD_BEGIN = 1,
    THREAD_END,
    PARALLEL_BEGIN,
    PARALLEL_END,
    TASK_CREATE,
    TASK_SCHEDULE,
    IMPLICIT_TASK,
    TARGET,
    CONTROL_TOOL = 11,
    SYNC_REGION_WAIT = 16,
    MUTEX_RELEASED,
    DEPENDENCES,
    TASK_DEPENDENCE,
    WORK,
    SYNC_REGION = 23,
    LOCK_INIT,
    LOCK_DESTROY,
    MUTEX_ACQUIRE,
    MUTEX_ACQUIRED,
    NEST_LOCK,
};
enum { SCOPE_BEGIN = 1, SCOPE_END = 2 };
enum { SET_ERROR = 0, SET_NEVER = 1, SET_SOMETIMES = 3, SET_ALWAYS = 5 };
enum { KIND_INITIAL = 1, KIND_IMPLICIT = 2, KIND_EXPLICIT = 4, KIND_UNDEFERRED = 0x08000000 };
enum { STATUS_COMPLETE = 1, STATUS_SWITCH = 7 };
enum { MUTEX_LOCK = 1, MUTEX_CRITICAL = 5, MUTEX_ORDERED = 7, MUTEX_KINDS };

#endif
