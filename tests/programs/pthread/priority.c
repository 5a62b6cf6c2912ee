// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Mutexes with priority inheritance: FUTEX_LOCK_PI and FUTEX_UNLOCK_PI. A program of its own.

#include "set/set.h"

enum { THREADS = 4, ROUNDS = 300 };

static pthread_mutex_t mutex;
static long counter;

static void *add(void *argument) {
    (void)argument;
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
        long seen = counter;
        sched_yield();
        counter = seen + 1;
        CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    }
    return NULL;
}

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_t threads[THREADS];
    CHECK_EQUAL(pthread_mutexattr_init(&attributes), 0);
    CHECK_EQUAL(pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT), 0);
    CHECK_EQUAL(pthread_mutex_init(&mutex, &attributes), 0);
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, add, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
    }
    CHECK_EQUAL(counter, THREADS * ROUNDS);
    CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
    CHECK_EQUAL(pthread_mutex_trylock(&mutex), EBUSY);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    printf("priority inheritance: %ld\n", counter);
    return 0;
}
