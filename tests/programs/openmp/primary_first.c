// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Of two members that share a CPU the primary one goes on first behind a barrier. The other one waits for
// what that does next, in a loop of its own, which would keep it from its CPU for a time slice.

#include "../common/check.h"

#include <omp.h>

enum { ROUNDS = 1000, WAITS_MOST = 100 };

static int done_in = -1;

static int done(void) {
    int round;
#pragma omp atomic read
    round = done_in;
    return round;
}

int main(void) {
    int waits = 0;
#pragma omp parallel num_threads(2)
    for (int round = 0; round < ROUNDS; round++) {
        if (omp_get_thread_num() == 0) {
#pragma omp atomic write
            done_in = round;
        } else {
            waits += done() < round;
            while (done() < round) {
            }
        }
#pragma omp barrier
    }
    CHECK(waits <= ROUNDS);
    if (omp_get_num_procs() == 1) {
        CHECK(waits < WAITS_MOST);
    }
    return 0;
}
