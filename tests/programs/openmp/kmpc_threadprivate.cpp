// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Threadprivate variables and objects; to be compiled with clang's -fnoopenmp-use-tls, too.

#include "../common/check.h"

#include <omp.h>
#include <pthread.h>

static int counter = 41;
#pragma omp threadprivate(counter)
static double table[100];
#pragma omp threadprivate(table)

struct Object {
    int number;
    Object() : number(1000) {}
    ~Object() { number = -1; }
};
static Object object;
#pragma omp threadprivate(object)

static void variables() {
    counter = 50;
    table[3] = 2;
#pragma omp parallel num_threads(4)
    {
        bool is_primary = omp_get_thread_num() == 0;
        CHECK_EQUAL(counter, is_primary ? 50 : 41);
        CHECK(table[3] == (is_primary ? 2 : 0));
        CHECK_EQUAL(object.number, 1000);
        counter += omp_get_thread_num();
        object.number += omp_get_thread_num();
    }
#pragma omp parallel num_threads(4)
    {
        CHECK_EQUAL(counter, omp_get_thread_num() == 0 ? 50 : 41 + omp_get_thread_num());
        CHECK_EQUAL(object.number, 1000 + omp_get_thread_num());
    }
    counter = 7;
    table[3] = 9;
#pragma omp parallel num_threads(4) copyin(counter, table)
    {
        CHECK_EQUAL(counter, 7);
        CHECK(table[3] == 9);
        counter = omp_get_thread_num();
#pragma omp barrier
#pragma omp single copyprivate(counter)
        counter = 77;
        CHECK_EQUAL(counter, 77);
    }
}

static void *other_thread(void *) {
    CHECK_EQUAL(counter, 41);
    counter = 1;
#pragma omp parallel num_threads(2)
    CHECK(counter == (omp_get_thread_num() == 0 ? 1 : counter));
    return nullptr;
}

// Each begins with a copy of its own, also if it has the place of one that has ended.
static void threads() {
    for (int round = 0; round < 5; round++) {
        pthread_t thread;
        CHECK_EQUAL(pthread_create(&thread, nullptr, other_thread, nullptr), 0);
        CHECK_EQUAL(pthread_join(thread, nullptr), 0);
    }
}

int main(int argc, char **argv) {
    static const part parts[] = {{"variables", variables}, {"threads", threads}};
    return run_parts(parts, sizeof parts / sizeof parts[0], argc, argv);
}
