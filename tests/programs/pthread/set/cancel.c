// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Cancellation in every state, clean-up handlers, and data of threads with destructors.

#include "set.h"

static int cleaned;

static void clean(void *argument) { cleaned = cleaned * 10 + *(int *)argument; }

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void unlock(void *argument) { pthread_mutex_unlock(argument); }

static void *waits_on_condition(void *argument) {
    int one = 1;
    int two = 2;
    (void)argument;
    pthread_cleanup_push(clean, &one);
    pthread_cleanup_push(clean, &two);
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, &mutex);
    for (;;) {
        pthread_cond_wait(&condition, &mutex);
    }
    pthread_cleanup_pop(1);
    pthread_cleanup_pop(1);
    pthread_cleanup_pop(1);
    return NULL;
}

static void *sleeps(void *argument) {
    int three = 3;
    (void)argument;
    pthread_cleanup_push(clean, &three);
    for (;;) {
        sleep(100);
    }
    pthread_cleanup_pop(1);
    return NULL;
}

static void *reads_pipe(void *argument) {
    int four = 4;
    char byte;
    pthread_cleanup_push(clean, &four);
    for (;;) {
        CHECK(read(*(int *)argument, &byte, 1) <= 0);
    }
    pthread_cleanup_pop(1);
    return NULL;
}

static volatile int started;

static void *spins_asynchronously(void *argument) {
    (void)argument;
    CHECK_EQUAL(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL), 0);
    started = 1;
    for (;;) {
    }
    return NULL;
}

static volatile int may_end;

static void *refuses_at_first(void *argument) {
    int old;
    CHECK_EQUAL(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old), 0);
    CHECK_EQUAL(old, PTHREAD_CANCEL_ENABLE);
    started = 1;
    while (!may_end) {
        usleep(1000);
    }
    *(int *)argument = 1;
    CHECK_EQUAL(pthread_setcancelstate(old, NULL), 0);
    pthread_testcancel();
    *(int *)argument = 2;
    return NULL;
}

static void expect_cancelled(pthread_t thread) {
    void *result = NULL;
    CHECK_EQUAL(pthread_join(thread, &result), 0);
    CHECK(result == PTHREAD_CANCELED);
}

static void wait_started(void) {
    while (!started) {
        sched_yield();
    }
    started = 0;
}

void part_cancellation(void) {
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, waits_on_condition, NULL), 0);
    usleep(10000);
    CHECK_EQUAL(pthread_cancel(thread), 0);
    expect_cancelled(thread);
    CHECK_EQUAL(cleaned, 21);
    CHECK_EQUAL(pthread_mutex_trylock(&mutex), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);

    CHECK_EQUAL(pthread_create(&thread, NULL, sleeps, NULL), 0);
    usleep(10000);
    CHECK_EQUAL(pthread_cancel(thread), 0);
    expect_cancelled(thread);
    CHECK_EQUAL(cleaned, 213);

    int ends[2];
    CHECK_EQUAL(pipe(ends), 0);
    CHECK_EQUAL(pthread_create(&thread, NULL, reads_pipe, &ends[0]), 0);
    usleep(10000);
    CHECK_EQUAL(pthread_cancel(thread), 0);
    expect_cancelled(thread);
    CHECK_EQUAL(cleaned, 2134);
    close(ends[0]);
    close(ends[1]);

    CHECK_EQUAL(pthread_create(&thread, NULL, spins_asynchronously, NULL), 0);
    wait_started();
    CHECK_EQUAL(pthread_cancel(thread), 0);
    expect_cancelled(thread);

    int stage = 0;
    CHECK_EQUAL(pthread_create(&thread, NULL, refuses_at_first, &stage), 0);
    wait_started();
    CHECK_EQUAL(pthread_cancel(thread), 0);
    usleep(5000);
    may_end = 1;
    expect_cancelled(thread);
    CHECK_EQUAL(stage, 1);
    printf("  deferred, asynchronous and disabled\n");
}

static pthread_key_t first_key;
static pthread_key_t second_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int once_count;
static int destroyed;
static int destroyed_twice;
static _Thread_local int thread_number = 40;
static _Thread_local char thread_block[5000];

static void destroy_first(void *value) {
    __atomic_fetch_add(&destroyed, *(int *)value, __ATOMIC_RELAXED);
    // Set again: the destructors run another time.
    CHECK_EQUAL(pthread_setspecific(second_key, value), 0);
}

static void destroy_second(void *value) {
    __atomic_fetch_add(&destroyed_twice, *(int *)value, __ATOMIC_RELAXED);
    free(value);
}

static void make_keys(void) {
    once_count++;
    CHECK_EQUAL(pthread_key_create(&first_key, destroy_first), 0);
    CHECK_EQUAL(pthread_key_create(&second_key, destroy_second), 0);
}

static void *uses_keys(void *argument) {
    CHECK_EQUAL(pthread_once(&once, make_keys), 0);
    int *value = malloc(sizeof *value);
    CHECK(value != NULL);
    *value = (int)(long)argument;
    CHECK(pthread_getspecific(first_key) == NULL);
    CHECK_EQUAL(pthread_setspecific(first_key, value), 0);
    CHECK_EQUAL(thread_number, 40);
    thread_number += *value;
    memset(thread_block, *value, sizeof thread_block);
    for (int i = 0; i < 20; i++) {
        sched_yield();
        CHECK_EQUAL(thread_number, 40 + *value);
        CHECK_EQUAL(thread_block[i * 250], *value);
        CHECK(pthread_getspecific(first_key) == value);
    }
    return NULL;
}

void part_tls(void) {
    enum { THREADS = 10 };
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, uses_keys, (void *)(i + 1)), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
    }
    CHECK_EQUAL(once_count, 1);
    CHECK_EQUAL(thread_number, 40);
    printf("  destroyed %d, then %d\n", destroyed, destroyed_twice);
}
