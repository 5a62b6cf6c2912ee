// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Eight OpenMP threads, each with its stack and its malloc arena. With the argument `machine` it also prints
// the memory in use in the whole machine, in KiB, for a test that bounds it.

#include "../common/check.h"

#include <omp.h>

static long meminfo(const char *key) {
    FILE *file = fopen("/proc/meminfo", "r");
    CHECK(file != NULL);
    char line[200];
    long value = -1;
    while (value < 0 && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0) {
            value = atol(line + strlen(key));
        }
    }
    fclose(file);
    CHECK(value >= 0);
    return value;
}

int main(int argc, char **argv) {
    long in_use = 0;
    long allocated = 0;
#pragma omp parallel num_threads(8) reduction(+ : allocated)
    {
        char *block = malloc(100000);
        CHECK(block != NULL);
        memset(block, omp_get_thread_num(), 100000);
#pragma omp barrier
#pragma omp single
        in_use = meminfo("MemTotal:") - meminfo("MemFree:");
        allocated += block[99999] == omp_get_thread_num();
        free(block);
    }
    printf("%ld threads\n", allocated);
    if (argc > 1 && strcmp(argv[1], "machine") == 0) {
        printf("in use %ld KiB\n", in_use);
    }
    return 0;
}
