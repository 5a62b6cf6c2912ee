// SPDX-License-Identifier: Apache-2.0 OR MIT
// Page faults of a program that touches what it has: segments, the heap, a mapping. With "none" as argument
// there may be none, otherwise some are expected.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { MIB = 1 << 20, PAGE = 4096 };

static char zeros[4 * MIB];
static char data[64 * PAGE] = {1};

static long faults(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? -1 : usage.ru_minflt + usage.ru_majflt;
}

static void touch(volatile char *memory, size_t bytes) {
    for (size_t at = 0; at < bytes; at += PAGE) {
        memory[at]++;
    }
}

int main(int argc, char **argv) {
    char *heap = malloc(100 * 1000);
    char *mapping = mmap(NULL, 8 * MIB + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!heap || mapping == MAP_FAILED) {
        return 1;
    }
    long before = faults();
    touch(zeros, sizeof zeros);
    touch(data, sizeof data);
    touch(heap, 100 * 1000);
    touch(mapping, 8 * MIB + PAGE);
    long during = faults() - before;
    int none = argc > 1 && strcmp(argv[1], "none") == 0;
    if (none ? during != 0 : during == 0) {
        printf("%ld faults\n", during);
        return 1;
    }
    printf("as expected\n");
    return 0;
}
