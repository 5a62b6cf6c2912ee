// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Threads that work for a while, then pass a turn round and wait for it with PAUSE or with sched_yield: so
// many as the first argument says, so many times as the second. The third is `pause` or `yield`, a fourth
// binds each to a CPU of its own.

#define _GNU_SOURCE
#include "../common/check.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static atomic_long turn;
static long threads, rounds;
static int yields, is_bound;

// Long enough to be given a CPU of its own.
static void work(void) {
    struct timespec now, start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec - start.tv_nsec < 60000000);
}

static void *member(void *argument) {
    long own = (long)argument;
    if (is_bound) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((size_t)own, &set);
        CHECK(pthread_setaffinity_np(pthread_self(), sizeof(set), &set) == 0);
    }
    work();
    for (long round = 0; round < rounds; round++) {
        while (atomic_load(&turn) != round * threads + own)
            if (yields)
                sched_yield();
            else
                __builtin_ia32_pause();
        atomic_fetch_add(&turn, 1);
    }
    return NULL;
}

int main(int argc, char **argv) {
    CHECK(argc == 4 || argc == 5);
    yields = strcmp(argv[3], "yield") == 0;
    is_bound = argc == 5;
    threads = atol(argv[1]);
    rounds = atol(argv[2]);
    pthread_t *members = calloc((size_t)threads, sizeof(*members));
    CHECK(members != NULL);
    for (long at = 0; at < threads; at++)
        CHECK(pthread_create(&members[at], NULL, member, (void *)at) == 0);
    for (long at = 0; at < threads; at++)
        CHECK(pthread_join(members[at], NULL) == 0);
    printf("the turn went %ld times through %ld hands\n", rounds, threads);
    return 0;
}
