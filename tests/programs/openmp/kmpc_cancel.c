// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Cancellation, if OMP_CANCELLATION is true; without it the same program runs everything.

#include "../common/check.h"

#include <omp.h>

static void region(void) {
    for (int round = 0; round < 30; round++) {
        int passed = 0, behind = 0;
#pragma omp parallel shared(passed, behind)
        {
            if (omp_get_thread_num() == omp_get_num_threads() - 1) {
#pragma omp cancel parallel
            }
#pragma omp barrier
#pragma omp atomic
            passed++;
#pragma omp barrier
#pragma omp atomic
            behind++;
        }
        if (omp_get_cancellation()) {
            CHECK_EQUAL(passed, 0);
            CHECK_EQUAL(behind, 0);
        }
    }
}

static void loop(void) {
    for (int round = 0; round < 30; round++) {
        int ran = 0, after = 0, members = 0;
#pragma omp parallel
        {
#pragma omp for schedule(static)
            for (int i = 0; i < 100000; i++) {
#pragma omp cancellation point for
#pragma omp atomic
                ran++;
#pragma omp cancel for if (i % 1000 == 10)
            }
#pragma omp for schedule(dynamic)
            for (int i = 0; i < 10000; i++) {
#pragma omp cancellation point for
#pragma omp atomic
                ran++;
#pragma omp cancel for if (i == 10)
            }
#pragma omp sections
            {
#pragma omp section
                {
#pragma omp cancel sections
                }
#pragma omp section
                {
#pragma omp cancellation point sections
                }
            }
            // What follows is complete.
#pragma omp for schedule(static)
            for (int i = 0; i < 100; i++) {
#pragma omp atomic
                after++;
            }
#pragma omp for schedule(dynamic)
            for (int i = 0; i < 100; i++) {
#pragma omp atomic
                after++;
            }
#pragma omp atomic
            members++;
        }
        CHECK_EQUAL(after, 200);
        CHECK(members >= 1);
        if (omp_get_cancellation()) {
            CHECK(ran < 110000);
        } else {
            CHECK_EQUAL(ran, 110000);
        }
    }
}

static void group(void) {
    for (int round = 0; round < 30; round++) {
        int ran = 0, late = 0;
#pragma omp parallel
#pragma omp single
        {
#pragma omp taskgroup
            for (int i = 0; i < 200; i++) {
#pragma omp task shared(ran)
                {
#pragma omp atomic
                    ran++;
                    if (i == 20) {
#pragma omp cancel taskgroup
                    }
                }
            }
#pragma omp taskgroup
            for (int i = 0; i < 20; i++) {
#pragma omp task shared(late)
                {
#pragma omp cancellation point taskgroup
#pragma omp atomic
                    late++;
                }
            }
        }
        CHECK_EQUAL(late, 20);
        CHECK(ran >= 1 && ran <= 200);
        if (!omp_get_cancellation()) {
            CHECK_EQUAL(ran, 200);
        }
    }
}

int main(int argc, char **argv) {
    static const struct part parts[] = {{"region", region}, {"loop", loop}, {"group", group}};
    return run_parts(parts, sizeof parts / sizeof parts[0], argc, argv);
}
