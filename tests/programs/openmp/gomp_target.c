// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// target and teams where there is no device: regions run on the host with private copies of what is
// firstprivate, as initial tasks, after what they depend on.

#include "../common/check.h"

#include <omp.h>

static void data(int n) {
    int array[4] = {1, 2, 3, 4};
    char letter = 3;
    struct {
        _Alignas(64) char bytes[100];
    } large;
    memset(&large, 5, sizeof large);
    double values[n];
    memset(values, 0, sizeof values);
#pragma omp target firstprivate(array, letter, large) map(tofrom : values [0:n])
    {
        CHECK_EQUAL((unsigned long)&large % 64, 0);
        array[1]++;
        letter++;
        large.bytes[99]++;
        values[n - 1] = array[1] + letter + large.bytes[99];
    }
    CHECK_EQUAL(array[1], 2);
    CHECK_EQUAL(letter, 3);
    CHECK_EQUAL(large.bytes[99], 5);
    CHECK_EQUAL(values[n - 1], 3 + 4 + 6);
    double *pointer = values;
#pragma omp target data map(tofrom : pointer [0:n]) use_device_ptr(pointer)
    pointer[0] = 9;
#pragma omp target enter data map(to : pointer [0:n])
#pragma omp target update from(pointer [0:n])
#pragma omp target if (0) map(pointer [0:n])
    pointer[1] = 10;
#pragma omp target exit data map(from : pointer [0:n])
    CHECK(values[0] == 9 && values[1] == 10);
}

static void as_initial_task(void) {
    int threads = 0, level = -1, wanted = omp_get_max_threads();
#pragma omp target map(threads, level)
    {
        level = omp_get_level();
#pragma omp parallel num_threads(3)
#pragma omp single
        threads = omp_get_num_threads();
        omp_set_num_threads(7);
    }
    CHECK_EQUAL(threads, 3);
    CHECK_EQUAL(level, 0);
    CHECK_EQUAL(omp_get_max_threads(), wanted);
    int inner[2] = {0};
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num();
#pragma omp target map(inner)
        {
            CHECK_EQUAL(omp_get_num_threads(), 1);
            CHECK(!omp_in_parallel());
#pragma omp parallel num_threads(2)
#pragma omp atomic
            inner[me]++;
        }
        CHECK_EQUAL(omp_get_num_threads(), 2);
        CHECK_EQUAL(omp_get_thread_num(), me);
    }
    CHECK(inner[0] == 2 && inner[1] == 2);
}

static void dependences(void) {
    int value = 0;
#pragma omp parallel num_threads(3)
#pragma omp single
    for (int round = 0; round < 10; round++) {
#pragma omp task depend(out : value)
        value++;
#pragma omp target map(value) depend(inout : value)
        {
            CHECK_EQUAL(value % 2, 1);
            value++;
        }
#pragma omp target update to(value) depend(in : value)
#pragma omp target enter data map(to : value) depend(in : value) nowait
#pragma omp taskwait
        CHECK_EQUAL(value, 2 * round + 2);
    }
}

static void team(int n, int *ran, int *members) {
#pragma omp atomic
    ++*ran;
    CHECK(omp_get_num_teams() >= 1 && omp_get_num_teams() <= n);
    CHECK(omp_get_team_num() >= 0 && omp_get_team_num() < omp_get_num_teams());
    CHECK_EQUAL(omp_get_level(), 0);
    CHECK_EQUAL(omp_get_thread_limit(), 3);
    int mine = 0;
    int number = omp_get_team_num();
#pragma omp parallel num_threads(8) reduction(+ : mine)
    {
        CHECK(omp_get_num_threads() <= 3);
        CHECK_EQUAL(omp_get_team_num(), number);
        mine++;
    }
#pragma omp atomic
    *members += mine;
}

static void teams(int n) {
    int ran = 0, members = 0;
#pragma omp teams num_teams(n) thread_limit(3)
    team(n, &ran, &members);
    CHECK(ran >= 1 && ran <= n);
    CHECK(members <= 3 * n);
    CHECK_EQUAL(omp_get_num_teams(), 1);
    CHECK_EQUAL(omp_get_team_num(), 0);
    int sum = 0, iterations[100] = {0};
#pragma omp teams distribute parallel for num_teams(n) thread_limit(2) reduction(+ : sum)
    for (int i = 0; i < 100; i++) {
        sum += i;
        iterations[i]++;
    }
    CHECK_EQUAL(sum, 4950);
#pragma omp target teams distribute parallel for num_teams(n) thread_limit(n + 1) map(iterations)
    for (int i = 0; i < 100; i++) {
        iterations[i]++;
    }
#pragma omp target teams distribute dist_schedule(static, 3) map(iterations)
    for (int i = 0; i < 100; i++) {
        iterations[i]++;
    }
#pragma omp teams
#pragma omp distribute
    for (int i = 0; i < 100; i++) {
        iterations[i]++;
    }
    for (int i = 0; i < 100; i++) {
        CHECK_EQUAL(iterations[i], 4);
    }
    CHECK_EQUAL(omp_get_num_teams(), 1);
#pragma omp target thread_limit(2)
    {
#pragma omp parallel num_threads(5)
        CHECK(omp_get_num_threads() <= 2);
    }
}

// An argument that is not there has no address; nothing is copied then.
void GOMP_target_ext(int device, void (*function)(void *), size_t count, void **addresses, size_t *sizes,
                     unsigned short *kinds, unsigned flags, void **depend, void **arguments);
static void see_absent(void *data) {
    void **addresses = data;
    CHECK(addresses[0] == NULL);
    CHECK_EQUAL(*(int *)addresses[1], 5);
}
static void absent(void) {
    int there = 5;
    void *addresses[] = {NULL, &there};
    size_t sizes[] = {sizeof there, sizeof there};
    unsigned short kinds[] = {2 << 8 | 12, 2 << 8 | 12};
    GOMP_target_ext(-1, see_absent, 2, addresses, sizes, kinds, 0, NULL, NULL);
}

// A region of a device begins with the device's settings, not with those of the task around it.
static void settings(void) {
    omp_sched_t kind, outer_kind;
    int chunk, outer_chunk, levels = omp_get_max_active_levels();
    omp_get_schedule(&outer_kind, &outer_chunk);
    int threads = omp_get_max_threads();
    omp_set_num_threads(threads + 3);
    omp_set_schedule(omp_sched_static, 7);
#pragma omp target map(from : kind, chunk)
    {
        CHECK_EQUAL(omp_get_max_threads(), threads);
        omp_get_schedule(&kind, &chunk);
        omp_set_num_threads(threads + 1);
    }
    CHECK_EQUAL(kind, outer_kind);
    CHECK_EQUAL(chunk, outer_chunk);
    CHECK_EQUAL(omp_get_max_threads(), threads + 3);
    CHECK_EQUAL(omp_get_max_active_levels(), levels);
    omp_set_num_threads(threads);
    omp_set_schedule(outer_kind, outer_chunk);
}

int main(void) {
    settings();
    absent();
    for (int round = 0; round < 5; round++) {
        data(10);
        as_initial_task();
        dependences();
        teams(1);
        teams(4);
    }
    printf("target ok\n");
    return 0;
}
