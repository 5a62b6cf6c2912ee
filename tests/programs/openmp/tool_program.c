// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Two regions, for a tool to count.

#include <stdio.h>

int main(void) {
    for (int region = 1; region <= 2; region++) {
        int members = 0;
#pragma omp parallel num_threads(2) reduction(+ : members)
        members++;
        printf("region %d had %d members\n", region, members);
    }
    return 0;
}
