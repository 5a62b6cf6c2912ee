// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reader-writer locks: hrt_rwlock_t, the thread that writes, and the preference where libc's static
// initialisers write it.
#define _GNU_SOURCE
#include <errno.h>

#include "thread.h"

struct hrt_posix_rwlock {
    hrt_rwlock_t core;
    pthread_t writer; /* 0: none */
    char unused[32];
    int32_t preference; /* PTHREAD_RWLOCK_PREFER_*, at offset 48 */
};
_Static_assert(sizeof(struct hrt_posix_rwlock) <= sizeof(pthread_rwlock_t), "layout");
_Static_assert(offsetof(struct hrt_posix_rwlock, preference) ==
                   offsetof(struct __pthread_rwlock_arch_t, __flags),
               "layout");

static struct hrt_posix_rwlock *view(pthread_rwlock_t *lock) { return (struct hrt_posix_rwlock *)lock; }

// As in libc only the non-recursive kind makes readers wait behind writers.
static uint64_t fresh_state(const struct hrt_posix_rwlock *lock) {
    bool writers_first = lock->preference == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
    return HRT_RWLOCK_MAGIC | (writers_first ? HRT_RWLOCK_WRITERS_FIRST : 0);
}

static void adopt(struct hrt_posix_rwlock *lock) {
    uint64_t unused = 0;
    if (HRT_LOAD(&lock->core.state, HRT_RELAXED) == 0) {
        HRT_CAS(&lock->core.state, &unused, fresh_state(lock), HRT_RELAXED);
    }
}

// A lock is adopted when a call finds that it is none.
static int try_read(struct hrt_posix_rwlock *lock) {
    int status = hrt_rwlock_tryrdlock(&lock->core);
    if (HRT_UNLIKELY(status == HRT_EINVAL)) {
        adopt(lock);
        status = hrt_rwlock_tryrdlock(&lock->core);
    }
    return status;
}

static int try_write(struct hrt_posix_rwlock *lock) {
    int status = hrt_rwlock_trywrlock(&lock->core);
    if (HRT_UNLIKELY(status == HRT_EINVAL)) {
        adopt(lock);
        status = hrt_rwlock_trywrlock(&lock->core);
    }
    if (status == HRT_OK) {
        HRT_STORE(&lock->writer, hrt_pthread_self(), HRT_RELAXED);
    }
    return status;
}

static bool is_mine(struct hrt_posix_rwlock *lock) {
    return HRT_LOAD(&lock->writer, HRT_RELAXED) == hrt_pthread_self();
}

int pthread_rwlock_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attr) {
    int preference = PTHREAD_RWLOCK_DEFAULT_NP;
    if (attr != NULL) {
        pthread_rwlockattr_getkind_np(attr, &preference);
    }
    __builtin_memset(lock, 0, sizeof *lock);
    view(lock)->preference = preference;
    HRT_STORE(&view(lock)->core.state, fresh_state(view(lock)), HRT_RELAXED);
    return 0;
}

// libc knows no error here, and programs rely on that: a lock that is held stays as it is.
int pthread_rwlock_destroy(pthread_rwlock_t *lock) {
    adopt(view(lock));
    int status = hrt_rwlock_destroy(&view(lock)->core);
    return status == HRT_EBUSY ? 0 : status;
}

// The lock is held: waits for it. A time that is none is an error only here.
static int await(struct hrt_posix_rwlock *lock, clockid_t clock, const struct timespec *time,
                 int (*until)(hrt_rwlock_t *, uint64_t)) {
    if (is_mine(lock)) {
        return EDEADLK;
    }
    uint64_t deadline = HRT_FOREVER;
    int status = time == NULL ? 0 : hrt_deadline(clock, time, &deadline);
    if (status != 0) {
        return status;
    }
    do {
        status = until(&lock->core, deadline);
    } while (status == HRT_ETIMEDOUT && hrt_deadline_is_early(clock, time, &deadline));
    return status;
}

static int read_until(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *time) {
    int status = try_read(view(lock));
    return HRT_LIKELY(status != HRT_EBUSY) ? status : await(view(lock), clock, time, hrt_rwlock_rdlock_until);
}

static int write_until(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *time) {
    int status = try_write(view(lock));
    if (HRT_LIKELY(status != HRT_EBUSY)) {
        return status;
    }
    status = await(view(lock), clock, time, hrt_rwlock_wrlock_until);
    if (status == HRT_OK) {
        HRT_STORE(&view(lock)->writer, hrt_pthread_self(), HRT_RELAXED);
    }
    return status;
}

int pthread_rwlock_rdlock(pthread_rwlock_t *lock) { return read_until(lock, CLOCK_REALTIME, NULL); }

int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *time) {
    return read_until(lock, CLOCK_REALTIME, time);
}

int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *time) {
    return read_until(lock, clock, time);
}

int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock) { return try_read(view(lock)); }

int pthread_rwlock_wrlock(pthread_rwlock_t *lock) { return write_until(lock, CLOCK_REALTIME, NULL); }

int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *time) {
    return write_until(lock, CLOCK_REALTIME, time);
}

int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *time) {
    return write_until(lock, clock, time);
}

int pthread_rwlock_trywrlock(pthread_rwlock_t *lock) { return try_write(view(lock)); }

int pthread_rwlock_unlock(pthread_rwlock_t *lock) {
    if (is_mine(view(lock))) {
        HRT_STORE(&view(lock)->writer, 0, HRT_RELAXED);
    }
    return hrt_rwlock_unlock(&view(lock)->core);
}
