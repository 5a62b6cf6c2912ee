// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// With OMP_DISPLAY_AFFINITY=true, a line of each thread for each region in which it is something else than
// before; among the lines of the program.

#include <omp.h>
#include <stdio.h>

static _Atomic int members;

static void region(const char *name, int threads) {
    printf("%s\n", name);
    omp_set_num_threads(threads);
#pragma omp parallel
    members++; // clang removes regions that do nothing
}

int main(void) {
    region("first", 2);
    region("the same", 2);
    region("larger", 3);
    omp_set_affinity_format("another format");
    region("the same again", 3);
    printf("routine\n");
    omp_display_affinity("level %L");
    return 0;
}
