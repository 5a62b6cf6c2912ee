// SPDX-License-Identifier: Apache-2.0 OR MIT
// An OpenMP team of all CPUs.
#include <math.h>
#include <omp.h>
#include <stdio.h>

int main(void) {
    int members = 0;
    double total = 0;
#pragma omp parallel reduction(+ : members, total)
    {
        members += 1;
        total += sqrt(omp_get_thread_num());
    }
    double expected = 0;
    for (int i = 0; i < members; i++) {
        expected += sqrt(i);
    }
    printf("members %d of %d, %s\n", members, omp_get_num_procs(),
           fabs(total - expected) < 1e-9 ? "right" : "wrong");
    return 0;
}
