// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Cancellation of regions, loops, sections and taskgroups. Without an argument the program runs itself with
// cancellation on, and checks itself that nothing is cancelled where it is off.

#include "../common/check.h"

#include <omp.h>

static int threads, is_on;

static void loops(void) {
    int ran[4] = {0}, after = 0;
#pragma omp parallel num_threads(threads)
    for (int round = 0; round < 20; round++) {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 1000; i++) {
#pragma omp atomic
            ran[0]++;
            if (i == 3) {
#pragma omp cancel for
            }
#pragma omp cancellation point for
        }
#pragma omp for schedule(static)
        for (int i = 0; i < 1000; i++) {
#pragma omp atomic
            ran[1]++;
#pragma omp cancel for if (i == 2)
        }
        // The construct behind a cancelled one is not.
#pragma omp for schedule(static)
        for (int i = 0; i < 100; i++) {
#pragma omp cancellation point for
#pragma omp atomic
            ran[2]++;
        }
#pragma omp for schedule(guided)
        for (int i = 0; i < 100; i++) {
#pragma omp cancellation point for
#pragma omp atomic
            ran[3]++;
        }
#pragma omp atomic
        after++;
    }
    CHECK_EQUAL(after, 20 * threads);
    CHECK(is_on ? ran[0] < 20000 : ran[0] == 20000);
    CHECK(is_on ? ran[1] < 20000 : ran[1] == 20000);
    CHECK_EQUAL(ran[2], 2000);
    CHECK_EQUAL(ran[3], 2000);
}

static void sections(void) {
    int last = 0, after = 0;
#pragma omp parallel num_threads(threads)
    {
#pragma omp sections
        {
#pragma omp section
            {
#pragma omp cancel sections
            }
#pragma omp section
            {
#pragma omp cancellation point sections
#pragma omp atomic
                last++;
    }
}
#pragma omp sections
{
#pragma omp section
    {
#pragma omp cancellation point sections
#pragma omp atomic
        after++;
    }
}
}
CHECK(last <= 1 && (is_on || last == 1));
CHECK_EQUAL(after, 1);
}

static void regions(void) {
    for (int round = 0; round < 20; round++) {
        int before = 0, after = 0, loop = 0;
#pragma omp parallel num_threads(threads)
        {
#pragma omp atomic
            before++;
            if (omp_get_thread_num() == round % threads) {
#pragma omp cancel parallel
            }
#pragma omp barrier
#pragma omp atomic
            after++;
#pragma omp for schedule(dynamic)
            for (int i = 0; i < 10; i++) {
#pragma omp atomic
                loop++;
            }
#pragma omp barrier
        }
        CHECK_EQUAL(before, threads);
        CHECK_EQUAL(after, is_on ? 0 : threads);
        CHECK_EQUAL(loop, is_on ? 0 : 10);
        // The next region begins afresh.
        int sum = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 2) reduction(+ : sum)
        for (int i = 0; i < 20; i++) {
            sum += i;
        }
        CHECK_EQUAL(sum, 190);
    }
}

static void groups(void) {
    int ran = 0, late = 0, all = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (int round = 0; round < 20; round++) {
#pragma omp taskgroup
        {
#pragma omp task
            {
#pragma omp cancel taskgroup
#pragma omp atomic
                ran++;
            }
#pragma omp taskwait
            for (int i = 0; i < 50; i++) {
#pragma omp task
                {
#pragma omp cancellation point taskgroup
#pragma omp atomic
                    late++;
                }
            }
        }
#pragma omp taskgroup
        {
            for (int i = 0; i < 5; i++) {
#pragma omp task
#pragma omp atomic
                all++;
            }
        }
    }
    CHECK_EQUAL(ran, is_on ? 0 : 20);
    CHECK_EQUAL(late, is_on ? 0 : 1000);
    CHECK_EQUAL(all, 100);
}

int main(void) {
    is_on = omp_get_cancellation();
    for (threads = 1; threads <= 8; threads *= 2) {
        loops();
        sections();
        regions();
        groups();
    }
    printf("cancellation %s ok\n", is_on ? "on" : "off");
    return 0;
}
