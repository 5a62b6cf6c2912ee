// SPDX-License-Identifier: Apache-2.0 OR MIT

#include "harmonic.h"

#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *add(void *terms) {
    static double sum;
    sum = harmonic(*(int *)terms);
    return &sum;
}

int main(int argc, char **argv) {
    int terms = argc > 1 ? atoi(argv[1]) : 4;
    pthread_t thread;
    void *sum;
    if (pthread_create(&thread, NULL, add, &terms) != 0 || pthread_join(thread, &sum) != 0) {
        return 1;
    }
    printf("%d threads, sum %.6f, logarithm %.6f\n", omp_get_max_threads(), *(double *)sum, log(terms));
    return 0;
}
