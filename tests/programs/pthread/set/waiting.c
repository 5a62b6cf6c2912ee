// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Condition variables, read-write locks, barriers, semaphores, and the time-outs of all of them.

#include "set.h"

#include <fcntl.h>
#include <semaphore.h>
#include <unistd.h>

enum { THREADS = 6 };

static void start_all(pthread_t *threads, void *(*run)(void *), void *argument) {
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, run, argument), 0);
    }
}

static void join_all(const pthread_t *threads) {
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
    }
}

// A bounded queue between producers and consumers.
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t not_empty;
    pthread_cond_t not_full;
    int items[4];
    int count;
    int produced;
    long consumed_sum;
    int consumed;
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER,
           .not_empty = PTHREAD_COND_INITIALIZER,
           .not_full = PTHREAD_COND_INITIALIZER};

enum { ITEMS = 600 };

static void *produce(void *argument) {
    (void)argument;
    for (;;) {
        pthread_mutex_lock(&queue.mutex);
        while (queue.count == 4 && queue.produced < ITEMS) {
            pthread_cond_wait(&queue.not_full, &queue.mutex);
        }
        int done = queue.produced >= ITEMS;
        if (!done) {
            queue.items[queue.count++] = ++queue.produced;
        }
        pthread_cond_signal(done ? &queue.not_full : &queue.not_empty);
        pthread_mutex_unlock(&queue.mutex);
        if (done) {
            return NULL;
        }
    }
}

static void *consume(void *argument) {
    (void)argument;
    for (;;) {
        pthread_mutex_lock(&queue.mutex);
        while (queue.count == 0 && queue.consumed < ITEMS) {
            pthread_cond_wait(&queue.not_empty, &queue.mutex);
        }
        int done = queue.count == 0;
        if (!done) {
            queue.consumed_sum += queue.items[--queue.count];
            queue.consumed++;
        }
        if (queue.consumed == ITEMS) {
            pthread_cond_broadcast(&queue.not_empty);
            pthread_cond_broadcast(&queue.not_full);
        } else {
            pthread_cond_signal(&queue.not_full);
        }
        pthread_mutex_unlock(&queue.mutex);
        if (done) {
            return NULL;
        }
    }
}

static pthread_mutex_t gate_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_open = PTHREAD_COND_INITIALIZER;
static int gate_waiters;
static int gate_is_open;

static void *wait_at_gate(void *argument) {
    (void)argument;
    pthread_mutex_lock(&gate_mutex);
    gate_waiters++;
    while (!gate_is_open) {
        pthread_cond_wait(&gate_open, &gate_mutex);
    }
    gate_waiters--;
    pthread_mutex_unlock(&gate_mutex);
    return NULL;
}

void part_conditions(void) {
    pthread_t producers[THREADS];
    pthread_t consumers[THREADS];
    start_all(consumers, consume, NULL);
    start_all(producers, produce, NULL);
    join_all(producers);
    join_all(consumers);
    printf("  %d items through the queue, sum %ld\n", queue.consumed, queue.consumed_sum);

    pthread_t waiters[THREADS];
    start_all(waiters, wait_at_gate, NULL);
    for (int ready = 0; !ready;) {
        pthread_mutex_lock(&gate_mutex);
        ready = gate_waiters == THREADS;
        pthread_mutex_unlock(&gate_mutex);
        sched_yield();
    }
    pthread_mutex_lock(&gate_mutex);
    gate_is_open = 1;
    pthread_cond_broadcast(&gate_open);
    pthread_mutex_unlock(&gate_mutex);
    join_all(waiters);
    CHECK_EQUAL(gate_waiters, 0);
    printf("  broadcast wakes all\n");
}

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static long pair[2];
static int readers_now;

static void *read_and_write(void *argument) {
    (void)argument;
    for (int i = 0; i < 300; i++) {
        if (i % 10 == 0) {
            CHECK_EQUAL(pthread_rwlock_wrlock(&rwlock), 0);
            CHECK_EQUAL(__atomic_load_n(&readers_now, __ATOMIC_RELAXED), 0);
            pair[0]++;
            sched_yield();
            pair[1]++;
        } else {
            CHECK_EQUAL(pthread_rwlock_rdlock(&rwlock), 0);
            __atomic_fetch_add(&readers_now, 1, __ATOMIC_RELAXED);
            CHECK_EQUAL(pair[0], pair[1]);
            __atomic_fetch_sub(&readers_now, 1, __ATOMIC_RELAXED);
        }
        CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
    }
    return NULL;
}

// What comes first to locks that nobody has initialised by a call.
static void first_on_rwlocks(void) {
    static pthread_rwlock_t locks[] = {
        PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER,
        PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER,
    };
    struct timespec soon = after_ms(CLOCK_REALTIME, 20);
    CHECK_EQUAL(pthread_rwlock_tryrdlock(&locks[0]), 0);
    CHECK_EQUAL(pthread_rwlock_trywrlock(&locks[1]), 0);
    CHECK_EQUAL(pthread_rwlock_wrlock(&locks[2]), 0);
    CHECK_EQUAL(pthread_rwlock_timedrdlock(&locks[3], &soon), 0);
    CHECK_EQUAL(pthread_rwlock_timedwrlock(&locks[4], &soon), 0);
    CHECK_EQUAL(pthread_rwlock_tryrdlock(&locks[2]), EBUSY);
    CHECK_EQUAL(pthread_rwlock_timedwrlock(&locks[3], &soon), ETIMEDOUT);
    for (size_t i = 0; i < sizeof locks / sizeof *locks; i++) {
        CHECK_EQUAL(pthread_rwlock_unlock(&locks[i]), 0);
        CHECK_EQUAL(pthread_rwlock_destroy(&locks[i]), 0);
    }
}

void part_rwlocks(void) {
    first_on_rwlocks();
    pthread_t threads[THREADS];
    start_all(threads, read_and_write, NULL);
    join_all(threads);
    printf("  written: %ld and %ld\n", pair[0], pair[1]);

    CHECK_EQUAL(pthread_rwlock_rdlock(&rwlock), 0);
    CHECK_EQUAL(pthread_rwlock_tryrdlock(&rwlock), 0);
    CHECK_EQUAL(pthread_rwlock_trywrlock(&rwlock), EBUSY);
    struct timespec soon = after_ms(CLOCK_REALTIME, 20);
    CHECK_EQUAL(pthread_rwlock_timedwrlock(&rwlock, &soon), ETIMEDOUT);
    CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
    CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
    CHECK_EQUAL(pthread_rwlock_trywrlock(&rwlock), 0);
    CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
}

static pthread_barrier_t barrier;
static int phase_counts[40];
static int serial_threads;

static void *through_phases(void *argument) {
    (void)argument;
    for (int phase = 0; phase < 40; phase++) {
        __atomic_fetch_add(&phase_counts[phase], 1, __ATOMIC_RELAXED);
        int result = pthread_barrier_wait(&barrier);
        CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
        if (result == PTHREAD_BARRIER_SERIAL_THREAD) {
            __atomic_fetch_add(&serial_threads, 1, __ATOMIC_RELAXED);
        }
        CHECK_EQUAL(__atomic_load_n(&phase_counts[phase], __ATOMIC_RELAXED), THREADS);
    }
    return NULL;
}

void part_barriers(void) {
    pthread_t threads[THREADS];
    CHECK_EQUAL(pthread_barrier_init(&barrier, NULL, THREADS), 0);
    start_all(threads, through_phases, NULL);
    join_all(threads);
    CHECK_EQUAL(pthread_barrier_destroy(&barrier), 0);
    printf("  serial threads: %d\n", serial_threads);
}

static sem_t items;
static sem_t slots;
static int passed;

static void *pass_items(void *argument) {
    (void)argument;
    for (int i = 0; i < 100; i++) {
        CHECK_EQUAL(sem_wait(&items), 0);
        __atomic_fetch_add(&passed, 1, __ATOMIC_RELAXED);
        CHECK_EQUAL(sem_post(&slots), 0);
    }
    return NULL;
}

// What comes first to a semaphore that sem_open() has made.
static sem_t *named(unsigned value) {
    char name[64];
    snprintf(name, sizeof name, "/hadal-waiting-%d", (int)getpid());
    sem_t *semaphore = sem_open(name, O_CREAT | O_EXCL, 0600, value);
    CHECK(semaphore != SEM_FAILED);
    CHECK_EQUAL(sem_unlink(name), 0);
    return semaphore;
}

static void *posts(void *semaphore) {
    CHECK_EQUAL(sem_post(semaphore), 0);
    return NULL;
}

static void named_semaphores(void) {
    struct timespec soon = after_ms(CLOCK_REALTIME, 20);
    int value = -1;
    sem_t *semaphores[] = {named(2), named(0), named(1), named(1), named(0), named(0)};
    CHECK_EQUAL(sem_getvalue(semaphores[0], &value), 0);
    CHECK_EQUAL(value, 2);
    CHECK_ERRNO(sem_trywait(semaphores[1]), EAGAIN);
    CHECK_EQUAL(sem_wait(semaphores[2]), 0);
    CHECK_EQUAL(sem_timedwait(semaphores[3], &soon), 0);
    CHECK_ERRNO(sem_timedwait(semaphores[3], &soon), ETIMEDOUT);
    CHECK_EQUAL(sem_post(semaphores[4]), 0);
    CHECK_EQUAL(sem_getvalue(semaphores[4], &value), 0);
    CHECK_EQUAL(value, 1);
    // All at once.
    pthread_t threads[THREADS];
    start_all(threads, posts, semaphores[5]);
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQUAL(sem_wait(semaphores[5]), 0);
    }
    join_all(threads);
    for (size_t i = 0; i < sizeof semaphores / sizeof *semaphores; i++) {
        CHECK_EQUAL(sem_close(semaphores[i]), 0);
    }
}

void part_semaphores(void) {
    named_semaphores();
    pthread_t threads[THREADS];
    CHECK_EQUAL(sem_init(&items, 0, 0), 0);
    CHECK_EQUAL(sem_init(&slots, 0, 3), 0);
    start_all(threads, pass_items, NULL);
    for (int i = 0; i < THREADS * 100; i++) {
        CHECK_EQUAL(sem_wait(&slots), 0);
        CHECK_EQUAL(sem_post(&items), 0);
    }
    join_all(threads);
    int value = -1;
    CHECK_EQUAL(sem_getvalue(&slots, &value), 0);
    CHECK_EQUAL(value, 3);
    CHECK_ERRNO(sem_trywait(&items), EAGAIN);
    printf("  passed: %d\n", passed);
}

static void *held_for_a_while(void *argument) {
    return (void *)(long)pthread_mutex_timedlock(argument, &(struct timespec){0, 0});
}

void part_timeouts(void) {
    struct timespec soon = after_ms(CLOCK_REALTIME, 30);
    CHECK_ERRNO(sem_timedwait(&items, &soon), ETIMEDOUT);
    CHECK(is_past(CLOCK_REALTIME, &soon));

    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
    soon = after_ms(CLOCK_REALTIME, 30);
    CHECK_EQUAL(pthread_cond_timedwait(&never, &mutex, &soon), ETIMEDOUT);
    CHECK(is_past(CLOCK_REALTIME, &soon));

    pthread_condattr_t attributes;
    pthread_cond_t monotonic;
    CHECK_EQUAL(pthread_condattr_init(&attributes), 0);
    CHECK_EQUAL(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC), 0);
    CHECK_EQUAL(pthread_cond_init(&monotonic, &attributes), 0);
    soon = after_ms(CLOCK_MONOTONIC, 30);
    CHECK_EQUAL(pthread_cond_timedwait(&monotonic, &mutex, &soon), ETIMEDOUT);
    CHECK(is_past(CLOCK_MONOTONIC, &soon));

    pthread_t thread;
    void *result;
    CHECK_EQUAL(pthread_create(&thread, NULL, held_for_a_while, &mutex), 0);
    CHECK_EQUAL(pthread_join(thread, &result), 0);
    CHECK_EQUAL((long)result, ETIMEDOUT);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    printf("  nothing ends before its time\n");
}
