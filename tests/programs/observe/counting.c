/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Everything that could make two runs of a counting machine differ: files of the host, output, threads that
 * share a CPU, sleep, standard input if it is a file, random numbers. Prints its clocks at the start and in
 * between.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum { THREADS = 3, LINES = 50, SPINS = 300000 };

static uint64_t clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void *compute(void *arg) {
    volatile unsigned *sum = arg;
    for (unsigned i = 0; i < SPINS; i++)
        *sum += i;
    return NULL;
}

static void threads(void) {
    pthread_t thread[THREADS];
    static unsigned sums[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, compute, &sums[i]) != 0)
            exit(1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

static unsigned long lines_of(FILE *file) {
    static char line[4096];
    unsigned long count = 0;
    while (fgets(line, sizeof line, file))
        count++;
    return count;
}

int main(int argc, char **argv) {
    uint64_t monotonic_ns = clock_ns(CLOCK_MONOTONIC);
    uint64_t time_of_day_ns = clock_ns(CLOCK_REALTIME);
    printf("monotonic ns %lu\ntime of day s %lu\n", monotonic_ns, time_of_day_ns / 1000000000);
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (file) {
        printf("%lu lines", lines_of(file));
        fclose(file);
    }
    printf(" at %llu\n", __rdtsc());
    threads();
    printf("threads at %llu\n", __rdtsc());
    usleep(2000);
    printf("sleep at %llu\n", __rdtsc());
    struct stat input;
    if (fstat(STDIN_FILENO, &input) == 0 && S_ISREG(input.st_mode)) {
        printf("%lu lines of input at ", lines_of(stdin));
        printf("%llu\n", __rdtsc());
    }
    for (int i = 0; i < LINES; i++) {
        printf("line %d\n", i);
        fflush(stdout);
    }
    unsigned random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return 1;
    printf("random %u at %llu\n", random, __rdtsc());
    return 0;
}
