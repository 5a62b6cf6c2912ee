// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// An undeferred task with an event: its generator goes on when the code is over, and the task has not ended
// before the event is fulfilled.

#include "../common/check.h"

#include <omp.h>

static void by_generator(void) {
    omp_event_handle_t event = 0;
    int done = 0;
#pragma omp task if (0) detach(event) shared(done)
    done = 1;
    CHECK(done == 1);
    omp_fulfill_event(event);
#pragma omp taskwait
}

// Whoever waits for the task waits for the event.
static void by_another(void) {
    omp_event_handle_t event = 0;
    int fulfilled = 0, done = 0;
#pragma omp taskgroup
    {
#pragma omp task if (0) detach(event) shared(done)
        done = 1;
        CHECK(done == 1);
#pragma omp task firstprivate(event) shared(fulfilled)
        {
#pragma omp atomic write
            fulfilled = 1;
            omp_fulfill_event(event);
        }
    }
    CHECK(fulfilled == 1);
}

static void in_final(void) {
    int sum = 0;
#pragma omp task final(1) shared(sum)
    {
        omp_event_handle_t event = 0;
#pragma omp task detach(event) shared(sum)
        sum++;
        CHECK(sum == 1);
        omp_fulfill_event(event);
    }
#pragma omp taskwait
    CHECK(sum == 1);
}

int main(void) {
    by_generator();
    by_another();
    for (int round = 0; round < 100; round++) {
#pragma omp parallel
        {
            by_generator();
            by_another();
            in_final();
        }
    }
    return 0;
}
