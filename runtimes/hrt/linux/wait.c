// SPDX-License-Identifier: Apache-2.0 OR MIT
// Waiting on words by futex(2).
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux.h"

// Of futex(2); linux/futex.h is not on every system with a C library.
#define FUTEX_WAKE 1
#define FUTEX_CMP_REQUEUE 4
#define FUTEX_WAIT_BITSET 9
#define FUTEX_PRIVATE_FLAG 128
#define FUTEX_BITSET_MATCH_ANY UINT32_MAX

// The system call without touching errno, which the interface promises.
static long futex(const uint32_t *word, int operation, uint32_t value, const void *time_or_count,
                  const uint32_t *target, uint32_t last) {
    int saved = errno;
    long result =
        syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, time_or_count, target, last);
    if (result < 0) {
        result = -errno;
    }
    errno = saved;
    return result;
}

int hrt_linux_wait(const uint32_t *word, uint32_t expected, uint64_t deadline_ns, uint32_t flags) {
    if (flags & ~HRT_WAIT_NO_INTR) {
        return HRT_EINVAL;
    }
    // A wait without a time-out would go on after a handler with SA_RESTART, where the interface says
    // HRT_EINTR.
    struct timespec time;
    const struct timespec *until =
        hrt_linux_timespec(deadline_ns == HRT_FOREVER ? INT64_MAX : deadline_ns, &time);
    long result;
    do {
        result = futex(word, FUTEX_WAIT_BITSET, expected, until, NULL, FUTEX_BITSET_MATCH_ANY);
    } while (result == -EINTR && (flags & HRT_WAIT_NO_INTR));
    return (int)-result;
}

uint32_t hrt_linux_wake(const uint32_t *word, uint32_t count, uint32_t flags) {
    (void)flags;
    long woken = futex(word, FUTEX_WAKE, count > INT_MAX ? INT_MAX : count, NULL, NULL, 0);
    return woken < 0 ? 0 : (uint32_t)woken;
}

int hrt_linux_requeue(const uint32_t *word, uint32_t expected, uint32_t count, const uint32_t *target) {
    const void *others = (const void *)(uintptr_t)INT_MAX;
    long moved = futex(word, FUTEX_CMP_REQUEUE, count > INT_MAX ? INT_MAX : count, others, target, expected);
    return moved < 0 ? (int)-moved : HRT_OK;
}
