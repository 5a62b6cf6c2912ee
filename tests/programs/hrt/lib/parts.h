// SPDX-License-Identifier: Apache-2.0 OR MIT
// The parts of the libhrt set: every function of the library, right and wrong. Each runs on both places.
#ifndef HADAL_TEST_LIB_PARTS_H
#define HADAL_TEST_LIB_PARTS_H

#include <hadal/hrt.h>

#include "../../common/check.h"
#include "../places.h"

void threads(void);
void joins(void);
void places(void);
void keys(void);
void locals(void);
void schedules(void);
void equal_turns(void);
void groups(void);
void forks(void);
void fibers(void);
void fiber_misuse(void);
void fiber_forks(void);
void tasks(void);
void many_submitters(void);
void task_misuse(void);
void waiting(void);
void memory(void);
void topology(void);
void modules(void);

// Joins and gives the result as a number.
static inline long joined(hrt_thread_t thread) {
    void *result = NULL;
    CHECK_EQUAL(hrt_thread_join(thread, &result), HRT_OK);
    return (long)result;
}

static inline void *number(long value) { return (void *)value; }

#endif
