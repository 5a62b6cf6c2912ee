// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Tasks that are generated faster than they are run need no more memory the more there are.

#include "../common/check.h"

#include <omp.h>
#include <sys/resource.h>

enum { TASKS = 300000, CHAINS = 64 };
static const long MOST_KIB = 48 << 10;

static long peak_kib(void) {
    struct rusage usage;
    CHECK_EQUAL(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

static void plain(void) {
    long count = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    for (long task = 0; task < TASKS; task++) {
#pragma omp task shared(count)
        {
#pragma omp atomic
            count++;
        }
    }
    CHECK_EQUAL(count, TASKS);
}

static void dependent(void) {
    static char chains[CHAINS];
    (void)chains; // nothing but its addresses is used
    long count = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    for (long task = 0; task < TASKS; task++) {
#pragma omp task shared(count) depend(inout : chains[task % CHAINS])
        {
#pragma omp atomic
            count++;
        }
    }
    CHECK_EQUAL(count, TASKS);
}

// All wait for an event that comes when the last of them is there: the generator must not wait with them.
static void blocked(void) {
    static char gate;
    (void)gate;
    omp_event_handle_t event = (omp_event_handle_t)0;
    long count = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task depend(out : gate) detach(event)
        count++;
        for (long task = 0; task < 10000; task++) {
#pragma omp task shared(count) depend(in : gate)
            {
#pragma omp atomic
                count++;
            }
        }
        omp_fulfill_event(event);
    }
    CHECK_EQUAL(count, 10001);
}

int main(void) {
    long before = peak_kib();
    plain();
    dependent();
    // Where memory is counted at all: not in images.
    CHECK(peak_kib() - before < MOST_KIB);
    blocked();
    printf("memory ok\n");
    return 0;
}
