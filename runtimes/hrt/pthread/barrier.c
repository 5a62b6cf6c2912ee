// SPDX-License-Identifier: Apache-2.0 OR MIT
// Barriers: central ones, in memory of their own because they need more room than a pthread_barrier_t has.
#include <errno.h>
#include <stdlib.h>

#include "thread.h"

struct hrt_posix_barrier {
    uint64_t magic;
    hrt_barrier_t *core;
};
#define MAGIC 0x4852544241525249ull
_Static_assert(sizeof(struct hrt_posix_barrier) <= sizeof(pthread_barrier_t), "layout");

static struct hrt_posix_barrier *view(pthread_barrier_t *barrier) {
    return (struct hrt_posix_barrier *)barrier;
}

int pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attr, unsigned count) {
    (void)attr; // process-shared is what every barrier is: there is one process
    if (count == 0 || count > INT32_MAX) {
        return EINVAL;
    }
    hrt_barrier_t *core = aligned_alloc(HRT_CACHE_LINE, sizeof *core);
    if (core == NULL) {
        return ENOMEM;
    }
    *view(barrier) = (struct hrt_posix_barrier){MAGIC, core};
    return hrt_barrier_init(core, count, HRT_BARRIER_CENTRAL, NULL);
}

// The barrier may be destroyed as soon as one thread has come out: then the others are still leaving.
int pthread_barrier_destroy(pthread_barrier_t *barrier) {
    if (view(barrier)->magic != MAGIC) {
        return EINVAL;
    }
    hrt_barrier_t *core = view(barrier)->core;
    int status;
    while ((status = hrt_barrier_destroy(core)) == HRT_EBUSY) {
        bool somebody_waits = (uint32_t)HRT_LOAD(&core->root.state, HRT_ACQUIRE) != 0;
        if (somebody_waits) {
            return EBUSY;
        }
        hrt_calls->thread_sleep_until(hrt_calls->now_ns() + 20000);
    }
    view(barrier)->magic = 0;
    free(core);
    return status;
}

int pthread_barrier_wait(pthread_barrier_t *barrier) {
    if (view(barrier)->magic != MAGIC) {
        return EINVAL;
    }
    int status = hrt_barrier_wait(view(barrier)->core);
    return status == HRT_BARRIER_SERIAL ? PTHREAD_BARRIER_SERIAL_THREAD : status;
}
