// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Mutexes of each type, and robust ones whose owner ends.

#include "set.h"

enum { THREADS = 4, ROUNDS = 2000 };

static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
static long counter;

static void *add_under_mutex(void *argument) {
    (void)argument;
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_EQUAL(pthread_mutex_lock(&normal), 0);
        long seen = counter;
        if (i % 64 == 0) {
            sched_yield();
        }
        counter = seen + 1;
        CHECK_EQUAL(pthread_mutex_unlock(&normal), 0);
    }
    return NULL;
}

static void *try_held(void *argument) { return (void *)(long)pthread_mutex_trylock(argument); }

static long try_elsewhere(pthread_mutex_t *mutex) {
    pthread_t thread;
    void *result;
    CHECK_EQUAL(pthread_create(&thread, NULL, try_held, mutex), 0);
    CHECK_EQUAL(pthread_join(thread, &result), 0);
    return (long)result;
}

static pthread_mutex_t new_mutex(int type, int robust) {
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;
    CHECK_EQUAL(pthread_mutexattr_init(&attributes), 0);
    CHECK_EQUAL(pthread_mutexattr_settype(&attributes, type), 0);
    CHECK_EQUAL(pthread_mutexattr_setrobust(&attributes, robust), 0);
    CHECK_EQUAL(pthread_mutex_init(&mutex, &attributes), 0);
    pthread_mutexattr_destroy(&attributes);
    return mutex;
}

void part_mutexes(void) {
    pthread_t threads[THREADS];
    counter = 0;
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, add_under_mutex, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
    }
    printf("  normal: %ld\n", counter);

    static pthread_mutex_t recursive;
    recursive = new_mutex(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED);
    CHECK_EQUAL(pthread_mutex_lock(&recursive), 0);
    CHECK_EQUAL(pthread_mutex_lock(&recursive), 0);
    CHECK_EQUAL(try_elsewhere(&recursive), EBUSY);
    CHECK_EQUAL(pthread_mutex_unlock(&recursive), 0);
    CHECK_EQUAL(try_elsewhere(&recursive), EBUSY);
    CHECK_EQUAL(pthread_mutex_unlock(&recursive), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&recursive), EPERM);

    static pthread_mutex_t checking;
    checking = new_mutex(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
    CHECK_EQUAL(pthread_mutex_unlock(&checking), EPERM);
    CHECK_EQUAL(pthread_mutex_lock(&checking), 0);
    CHECK_EQUAL(pthread_mutex_lock(&checking), EDEADLK);
    CHECK_EQUAL(try_elsewhere(&checking), EBUSY);
    CHECK_EQUAL(pthread_mutex_unlock(&checking), 0);
    printf("  recursive and checking mutexes keep their rules\n");
}

static void *ends_as_owner(void *argument) {
    CHECK_EQUAL(pthread_mutex_lock(argument), 0);
    return NULL;
}

static void *waits_for_owner(void *argument) {
    int result = pthread_mutex_lock(argument);
    if (result == EOWNERDEAD) {
        CHECK_EQUAL(pthread_mutex_consistent(argument), 0);
    }
    CHECK_EQUAL(pthread_mutex_unlock(argument), 0);
    return (void *)(long)result;
}

static int release;

static void *ends_when_told(void *argument) {
    CHECK_EQUAL(pthread_mutex_lock(argument), 0);
    __atomic_store_n(&release, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&release, __ATOMIC_ACQUIRE) != 2) {
        sched_yield();
    }
    return NULL;
}

void part_robust(void) {
    static pthread_mutex_t mutex;
    pthread_t owner;
    mutex = new_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
    CHECK_EQUAL(pthread_create(&owner, NULL, ends_as_owner, &mutex), 0);
    CHECK_EQUAL(pthread_join(owner, NULL), 0);
    CHECK_EQUAL(pthread_mutex_lock(&mutex), EOWNERDEAD);
    CHECK_EQUAL(pthread_mutex_consistent(&mutex), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);

    // A waiter is woken by the end of the owner.
    pthread_t waiter;
    void *result;
    CHECK_EQUAL(pthread_create(&owner, NULL, ends_when_told, &mutex), 0);
    while (__atomic_load_n(&release, __ATOMIC_ACQUIRE) != 1) {
        sched_yield();
    }
    CHECK_EQUAL(pthread_create(&waiter, NULL, waits_for_owner, &mutex), 0);
    usleep(20000);
    __atomic_store_n(&release, 2, __ATOMIC_RELEASE);
    CHECK_EQUAL(pthread_join(waiter, &result), 0);
    CHECK_EQUAL((long)result, EOWNERDEAD);
    CHECK_EQUAL(pthread_join(owner, NULL), 0);

    // Not made consistent: the mutex is lost for good.
    CHECK_EQUAL(pthread_create(&owner, NULL, ends_as_owner, &mutex), 0);
    CHECK_EQUAL(pthread_join(owner, NULL), 0);
    CHECK_EQUAL(pthread_mutex_lock(&mutex), EOWNERDEAD);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    CHECK_EQUAL(pthread_mutex_lock(&mutex), ENOTRECOVERABLE);
    printf("  the end of an owner is reported\n");
}
