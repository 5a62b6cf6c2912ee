// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Threads that pass a turn round and wait for it with PAUSE, each on a CPU of its own: so many as the first
// argument says, so many times as the second.

#include "../common/check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_long turn;
static long threads, rounds;

static void *member(void *argument) {
    long own = (long)argument;
    for (long round = 0; round < rounds; round++) {
        while (atomic_load(&turn) != round * threads + own)
            __builtin_ia32_pause();
        atomic_fetch_add(&turn, 1);
    }
    return NULL;
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
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
