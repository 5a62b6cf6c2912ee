// SPDX-License-Identifier: Apache-2.0 OR MIT
// Threads that lock, work and unlock in loops: each gets its turns, however few CPUs there are. The worst
// case for a scheduler is one CPU: the end of a slice nearly always finds a thread that holds the lock, and
// whoever is woken by its release finds the lock taken again.
//
// fairness KIND THREADS...: KIND is mutex, holder-yields, futex, semaphore, condvar or spin-yield.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../common/check.h"

enum {
    MAX_THREADS = 64,
    // Turns that every thread must get.
    ENOUGH = 10,
    // A thread that has not got them by then starves: fair turns of 64 threads take a tenth of this.
    LIMIT_S = 40,
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static _Atomic unsigned word;
static bool taken;
static atomic_bool stop;
static _Atomic long turns[MAX_THREADS];

static void work(void) {
    for (volatile int i = 0; i < 1000; i++) {
    }
}

static void lock_mutex(void) { pthread_mutex_lock(&mutex); }

static void unlock_mutex(void) { pthread_mutex_unlock(&mutex); }

static void unlock_mutex_after_yield(void) {
    sched_yield();
    pthread_mutex_unlock(&mutex);
}

// 0 is free, 1 is taken, 2 is taken and somebody may wait.
static void lock_futex(void) {
    unsigned seen = 0;
    if (atomic_compare_exchange_strong(&word, &seen, 1)) {
        return;
    }
    while (atomic_exchange(&word, 2) != 0) {
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
    }
}

static void unlock_futex(void) {
    if (atomic_exchange(&word, 0) == 2) {
        syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

static void lock_semaphore(void) { sem_wait(&semaphore); }

static void unlock_semaphore(void) { sem_post(&semaphore); }

static void lock_monitor(void) {
    pthread_mutex_lock(&mutex);
    while (taken) {
        pthread_cond_wait(&cond, &mutex);
    }
    taken = true;
    pthread_mutex_unlock(&mutex);
}

static void unlock_monitor(void) {
    pthread_mutex_lock(&mutex);
    taken = false;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&mutex);
}

static void lock_spinning(void) {
    while (atomic_exchange(&word, 1) != 0) {
        sched_yield();
    }
}

static void unlock_spinning(void) { atomic_store(&word, 0); }

static const struct kind {
    const char *name;
    void (*lock)(void);
    void (*unlock)(void);
} kinds[] = {
    {"mutex", lock_mutex, unlock_mutex},       {"holder-yields", lock_mutex, unlock_mutex_after_yield},
    {"futex", lock_futex, unlock_futex},       {"semaphore", lock_semaphore, unlock_semaphore},
    {"condvar", lock_monitor, unlock_monitor}, {"spin-yield", lock_spinning, unlock_spinning},
};
static const struct kind *kind;

static void *take_turns(void *own) {
    _Atomic long *count = own;
    while (!stop) {
        kind->lock();
        work();
        atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
        kind->unlock();
    }
    return NULL;
}

static int starving(int threads) {
    for (int i = 0; i < threads; i++) {
        if (turns[i] < ENOUGH) {
            return i;
        }
    }
    return -1;
}

// Runs so many threads until each has had its turns; returns whether that came about.
static bool share(int threads) {
    stop = false;
    for (int i = 0; i < threads; i++) {
        turns[i] = 0;
    }
    pthread_t ids[MAX_THREADS];
    for (int i = 0; i < threads; i++) {
        CHECK_EQUAL(pthread_create(&ids[i], NULL, take_turns, &turns[i]), 0);
    }
    const struct timespec pause = {.tv_nsec = 20000000};
    for (long waited_ms = 0; waited_ms < LIMIT_S * 1000L && starving(threads) >= 0; waited_ms += 20) {
        nanosleep(&pause, NULL);
    }
    stop = true;
    int loser = starving(threads);
    if (loser >= 0) {
        // A starving thread is not waited for.
        printf("%s: thread %d of %d has had %ld turns\n", kind->name, loser, threads, (long)turns[loser]);
        return false;
    }
    for (int i = 0; i < threads; i++) {
        CHECK_EQUAL(pthread_join(ids[i], NULL), 0);
    }
    printf("%s: %d threads, all get turns\n", kind->name, threads);
    return true;
}

int main(int argc, char **argv) {
    CHECK(argc > 2);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(argv[1], kinds[i].name) == 0) {
            kind = &kinds[i];
        }
    }
    CHECK(kind != NULL);
    sem_init(&semaphore, 0, 1);
    for (int i = 2; i < argc; i++) {
        int threads = atoi(argv[i]);
        CHECK(threads > 1 && threads <= MAX_THREADS);
        if (!share(threads)) {
            return 1;
        }
    }
    return 0;
}
