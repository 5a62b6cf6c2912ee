// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Threads of the program that use OpenMP and end leave their teams' threads to the next ones.

#include "../common/check.h"

#include <omp.h>
#include <pthread.h>
#include <stdio.h>

enum { ROUNDS = 60, MOST = 10 };

static void *use_team(void *sum) {
#pragma omp parallel num_threads(2)
#pragma omp atomic
    *(int *)sum += 1;
    return 0;
}

static int threads_of_process(void) {
    FILE *status = fopen("/proc/self/status", "r");
    CHECK(status != 0);
    char line[256];
    int count = -1;
    while (fgets(line, sizeof line, status) != 0 && sscanf(line, "Threads: %d", &count) != 1) {
    }
    fclose(status);
    return count;
}

int main(void) {
    int sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, 0, use_team, &sum) == 0);
        CHECK(pthread_join(thread, 0) == 0);
    }
    CHECK(sum == 2 * ROUNDS);
    int threads = threads_of_process();
    CHECK(threads > 0 && threads < MOST);
    return 0;
}
