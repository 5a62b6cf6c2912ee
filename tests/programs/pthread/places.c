// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// One thread for each CPU; all move to the next CPU at the same moment, again and again. A scheduler that
// waits for a thread to leave its old CPU while another CPU waits for this one's thread never gets out.
//
//   places ROUNDS

#define _GNU_SOURCE
#include "../common/check.h"

#include <pthread.h>
#include <sched.h>

static pthread_barrier_t barrier;
static long cpus, rounds;

static void *move_about(void *argument) {
    long self = (long)argument;
    for (long round = 0; round < rounds; round++) {
        cpu_set_t place;
        CPU_ZERO(&place);
        CPU_SET((size_t)((self + round) % cpus), &place);
        pthread_barrier_wait(&barrier);
        CHECK_EQUAL(sched_setaffinity(0, sizeof place, &place), 0);
    }
    return NULL;
}

int main(int argc, char **argv) {
    rounds = argc > 1 ? atol(argv[1]) : 100;
    cpus = sysconf(_SC_NPROCESSORS_ONLN);
    CHECK(cpus >= 1 && cpus <= 64);
    pthread_t threads[64];
    CHECK_EQUAL(pthread_barrier_init(&barrier, NULL, (unsigned)cpus), 0);
    for (long i = 0; i < cpus; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, move_about, (void *)i), 0);
    }
    for (long i = 0; i < cpus; i++) {
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
    }
    printf("all threads have been everywhere\n");
    return 0;
}
