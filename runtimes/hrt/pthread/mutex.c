// SPDX-License-Identifier: Apache-2.0 OR MIT
// Mutexes: hrt_mutex_t in the first 16 bytes, the type where libc's static initialisers write it. Those with
// a protocol or robustness are libc's own, over PI and robust futexes.
#define _GNU_SOURCE
#include <errno.h>

#include "mutex.h"

static struct hrt_posix_mutex *view(pthread_mutex_t *mutex) { return (struct hrt_posix_mutex *)mutex; }

static bool is_libc(const struct hrt_posix_mutex *mutex) { return (mutex->type & HRT_MUTEX_LIBC) != 0; }

static uint32_t kind_of(const struct hrt_posix_mutex *mutex) {
    switch (mutex->type) {
    case PTHREAD_MUTEX_RECURSIVE:
        return HRT_MUTEX_RECURSIVE;
    case PTHREAD_MUTEX_ERRORCHECK:
        return HRT_MUTEX_ERROR_CHECKING;
    default:
        return HRT_MUTEX_NORMAL;
    }
}

// Gives a mutex that a static initialiser made its magic; whoever is first.
static void adopt(struct hrt_posix_mutex *mutex) {
    uint32_t unused = 0;
    if (HRT_LOAD(&mutex->core.word, HRT_RELAXED) == 0) {
        HRT_CAS(&mutex->core.word, &unused, HRT_MUTEX_FREE(kind_of(mutex)), HRT_RELAXED);
    }
}

int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr) {
    struct hrt_posix_mutex *own = view(mutex);
    int type = PTHREAD_MUTEX_NORMAL, robust = PTHREAD_MUTEX_STALLED, protocol = PTHREAD_PRIO_NONE;
    if (attr != NULL) {
        pthread_mutexattr_gettype(attr, &type);
        pthread_mutexattr_getrobust(attr, &robust);
        pthread_mutexattr_getprotocol(attr, &protocol);
    }
    if (robust != PTHREAD_MUTEX_STALLED || protocol != PTHREAD_PRIO_NONE) {
        return __pthread_mutex_init(mutex, attr);
    }
    __builtin_memset(mutex, 0, sizeof *mutex);
    own->type = type;
    return hrt_mutex_init(&own->core, kind_of(own));
}

int pthread_mutex_destroy(pthread_mutex_t *mutex) {
    struct hrt_posix_mutex *own = view(mutex);
    if (is_libc(own)) {
        return __pthread_mutex_destroy(mutex);
    }
    adopt(own);
    return hrt_mutex_destroy(&own->core);
}

static int lock_slow(pthread_mutex_t *mutex) {
    struct hrt_posix_mutex *own = view(mutex);
    if (is_libc(own)) {
        // The end of such a thread looks for robust mutexes.
        HRT_STORE(&hrt_local.pthread.spoilt, 1, HRT_RELAXED);
        return __pthread_mutex_lock(mutex);
    }
    adopt(own);
    return hrt_pthread_error(hrt_mutex_lock(&own->core));
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    uint32_t word = HRT_MUTEX_FREE(HRT_MUTEX_NORMAL);
    if (HRT_LIKELY(HRT_CAS(&view(mutex)->core.word, &word, word | HRT_MUTEX_HELD, HRT_ACQUIRE))) {
        return 0;
    }
    return lock_slow(mutex);
}

int pthread_mutex_trylock(pthread_mutex_t *mutex) {
    struct hrt_posix_mutex *own = view(mutex);
    if (is_libc(own)) {
        HRT_STORE(&hrt_local.pthread.spoilt, 1, HRT_RELAXED);
        return __pthread_mutex_trylock(mutex);
    }
    adopt(own);
    return hrt_pthread_error(hrt_mutex_trylock(&own->core));
}

int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *time) {
    struct hrt_posix_mutex *own = view(mutex);
    if (is_libc(own)) {
        HRT_STORE(&hrt_local.pthread.spoilt, 1, HRT_RELAXED);
        return __pthread_mutex_clocklock(mutex, clock, time);
    }
    adopt(own);
    // A time that is none is no error if there is no need to wait.
    uint64_t deadline = 0;
    int error = hrt_deadline(clock, time, &deadline);
    int status = error != 0 ? hrt_mutex_trylock(&own->core) : hrt_mutex_lock_until(&own->core, deadline);
    while (error == 0 && status == HRT_ETIMEDOUT && hrt_deadline_is_early(clock, time, &deadline)) {
        status = hrt_mutex_lock_until(&own->core, deadline);
    }
    return error != 0 && status == HRT_EBUSY ? error : hrt_pthread_error(status);
}

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *time) {
    return pthread_mutex_clocklock(mutex, CLOCK_REALTIME, time);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    uint32_t word = HRT_MUTEX_FREE(HRT_MUTEX_NORMAL) | HRT_MUTEX_HELD;
    if (HRT_LIKELY(HRT_CAS(&view(mutex)->core.word, &word, HRT_MUTEX_FREE(HRT_MUTEX_NORMAL), HRT_RELEASE))) {
        return 0;
    }
    if (is_libc(view(mutex))) {
        return __pthread_mutex_unlock(mutex);
    }
    adopt(view(mutex));
    return hrt_mutex_unlock(&view(mutex)->core);
}

int hrt_posix_mutex_suspend(pthread_mutex_t *mutex, uint32_t *depth) {
    *depth = 0;
    if (is_libc(view(mutex))) {
        return __pthread_mutex_unlock(mutex);
    }
    adopt(view(mutex));
    return hrt_mutex_unlock_wholly(&view(mutex)->core, depth);
}

int hrt_posix_mutex_resume(pthread_mutex_t *mutex, uint32_t depth) {
    return is_libc(view(mutex)) ? __pthread_mutex_lock(mutex) : hrt_mutex_relock(&view(mutex)->core, depth);
}
