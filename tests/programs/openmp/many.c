// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A large team: every thread computes, meets the others at barriers, and takes its turn at a lock. A program
// of its own.
//
//   many THREADS

#include "../common/check.h"

#include <omp.h>

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 64;
    CHECK(count > 0 && count <= 4096);
    long *values = calloc((size_t)count, sizeof *values);
    CHECK(values != NULL);
    long sum = 0;
    long turns = 0;
    int members = 0;
#pragma omp parallel num_threads(count) reduction(+ : sum)
    {
        int me = omp_get_thread_num();
#pragma omp single
        members = omp_get_num_threads();
        for (int round = 0; round < 3; round++) {
            values[me] += me + round;
#pragma omp barrier
            sum += values[(me + 1) % count];
#pragma omp barrier
        }
#pragma omp critical
        turns++;
    }
#pragma omp parallel for num_threads(count) schedule(dynamic, 1) reduction(+ : sum)
    for (int i = 0; i < 4 * count; i++) {
        sum += i;
    }
    CHECK_EQUAL(turns, count);
    CHECK_EQUAL(members, count);
    printf("%d threads, sum %ld\n", members, sum);
    free(values);
    return 0;
}
