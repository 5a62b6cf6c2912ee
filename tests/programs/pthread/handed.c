// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Where a thread runs that is woken while as many CPUs are busy as the host has cores: so many as the
// argument says, this program's first thread on CPU 0 among them. Writes how often it was on the waker's CPU,
// which gave way, instead of the idle one that it slept on.

#define _GNU_SOURCE
#include "../common/check.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 50 };

static sem_t ready, go, done;
static atomic_int over;
static int ran_on;

static void run_on(int first, int last) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu = first; cpu <= last; cpu++)
        CPU_SET((size_t)cpu, &set);
    CHECK(sched_setaffinity(0, sizeof(set), &set) == 0);
}

static void *hog(void *argument) {
    run_on((int)(long)argument, (int)(long)argument);
    while (!atomic_load(&over))
        ;
    return NULL;
}

static void *sleeper(void *argument) {
    int last = (int)(long)argument;
    for (int round = 0; round < ROUNDS; round++) {
        run_on(last, last);
        run_on(0, last);
        sem_post(&ready);
        sem_wait(&go);
        ran_on = sched_getcpu();
        sem_post(&done);
    }
    return NULL;
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    int busy = atoi(argv[1]), last = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;
    CHECK(busy >= 1 && busy < last);
    run_on(0, 0);
    sem_init(&ready, 0, 0);
    sem_init(&go, 0, 0);
    sem_init(&done, 0, 0);
    pthread_t thread, hogs[busy];
    for (int at = 1; at < busy; at++)
        CHECK(pthread_create(&hogs[at], NULL, hog, (void *)(long)at) == 0);
    CHECK(pthread_create(&thread, NULL, sleeper, (void *)(long)last) == 0);
    int on_own = 0;
    for (int round = 0; round < ROUNDS; round++) {
        sem_wait(&ready);
        // Until the sleeper's CPU is idle.
        usleep(2000);
        sem_post(&go);
        sem_wait(&done);
        on_own += ran_on == 0;
    }
    atomic_store(&over, 1);
    for (int at = 1; at < busy; at++)
        CHECK(pthread_join(hogs[at], NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    printf("%d of %d\n", on_own, ROUNDS);
    return 0;
}
