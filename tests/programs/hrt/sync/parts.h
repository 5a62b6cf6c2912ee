// SPDX-License-Identifier: Apache-2.0 OR MIT
// The parts of the synchronisation set, and threads for them.
#ifndef HADAL_TEST_HRT_SYNC_PARTS_H
#define HADAL_TEST_HRT_SYNC_PARTS_H

#include <hadal/hrt.h>

#include "../../common/check.h"

#define THREADS 6
#define MILLISECOND 1000000ull

// Runs fn(0), fn(1), ... in threads of their own and joins them.
static inline void in_threads(unsigned count, hrt_thread_fn fn) {
    hrt_thread_t threads[count];
    for (uintptr_t number = 0; number < count; number++) {
        CHECK_EQUAL(hrt_thread_create(&threads[number], NULL, fn, (void *)number), HRT_OK);
    }
    for (unsigned number = 0; number < count; number++) {
        CHECK_EQUAL(hrt_thread_join(threads[number], NULL), HRT_OK);
    }
}

static inline uint64_t in_ms(uint64_t milliseconds) { return hrt_now_ns() + milliseconds * MILLISECOND; }

void spin_locks(void);
void mutexes(void);
void mutex_kinds(void);
void mutex_time_outs(void);
void rwlocks(void);
void rwlock_time_outs(void);
void wait_queues(void);
void conditions(void);
void condition_time_outs(void);
void semaphores(void);
void semaphore_time_outs(void);
void barriers(void);
void wide_barriers(void);
void onces(void);
void misuse(void);
void destroyed(void);
void busy(void);

#endif
