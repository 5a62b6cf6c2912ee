// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Of members that share a CPU the primary one goes on first behind a barrier. The others wait for what that
// does next, in loops of their own, which would keep it from its CPU for a time slice each.

#include "../common/check.h"

#include <omp.h>

enum { ROUNDS = 1000, WAITS_MOST = 100, TRIES = 8, WAITS_MOST_ON_TWO = 1500 };

static int done_in;

static int done(void) {
    int round;
#pragma omp atomic read
    round = done_in;
    return round;
}

// How often a member that is not the primary one had to wait.
static int waits_of(int size) {
    int waits = 0;
    done_in = -1;
#pragma omp parallel num_threads(size) reduction(+ : waits)
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
    return waits;
}

// With more members than CPUs.
static int waits_of_crowds(void) { return waits_of(3) + waits_of(4) + waits_of(5); }

int main(void) {
    int waits = waits_of(2);
    CHECK(waits <= ROUNDS);
    if (omp_get_num_procs() == 1) {
        CHECK(waits < WAITS_MOST);
    }
    // Who is on another CPU than the primary member may have to wait for it, above all where the host is busy
    // with something else: the best of some tries counts.
    waits = waits_of_crowds();
    for (int i = 1; i < TRIES && omp_get_num_procs() <= 2 && waits >= WAITS_MOST_ON_TWO; i++) {
        waits = waits_of_crowds();
    }
    if (omp_get_num_procs() <= 2) {
        CHECK(waits < WAITS_MOST_ON_TWO);
    }
    return 0;
}
