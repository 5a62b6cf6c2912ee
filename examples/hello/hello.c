// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Every thread of the team says hello, in order of its number.

#include <omp.h>
#include <stdio.h>

int main(void) {
#pragma omp parallel for ordered schedule(static, 1)
    for (int i = 0; i < omp_get_max_threads(); i++) {
#pragma omp ordered
        printf("hello from thread %d of %d\n", omp_get_thread_num(), omp_get_num_threads());
    }
    return 0;
}
