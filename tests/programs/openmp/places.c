// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Threads of the program get a place with their first region, and not before; each team of a league that its
// threads have room in has places of its own. With OMP_PLACES=threads, OMP_PROC_BIND=close and at least two
// CPUs.

#define _GNU_SOURCE
#include "../common/check.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>

// How many CPUs the calling thread may run on.
static int own_cpus(cpu_set_t *cpus) {
    CHECK_EQUAL(sched_getaffinity(0, sizeof *cpus, cpus), 0);
    return CPU_COUNT(cpus);
}

static void check_place(void) {
    cpu_set_t cpus;
    int ids[1024], place = omp_get_place_num();
    CHECK(place >= 0 && place < omp_get_num_places());
    CHECK_EQUAL(omp_get_place_num_procs(place), 1);
    omp_get_place_proc_ids(place, ids);
    CHECK_EQUAL(own_cpus(&cpus), 1);
    CHECK(CPU_ISSET((size_t)ids[0], &cpus));
}

static void region(void) {
#pragma omp parallel num_threads(2)
    check_place();
    check_place();
}

static void *root(void *all) {
    cpu_set_t cpus;
    omp_set_num_threads(2); // the run-time knows the thread from here on
    CHECK_EQUAL(own_cpus(&cpus), *(int *)all);
    region();
    return NULL;
}

static void league(int teams) {
    int counts[8] = {0};
#pragma omp teams num_teams(teams) thread_limit(1)
    {
        check_place();
        counts[omp_get_team_num()] = omp_get_partition_num_places();
    }
    for (int team = 0; team < teams; team++) {
        int most = (omp_get_num_places() + teams - 1) / teams;
        CHECK(counts[team] >= 1 && counts[team] <= most);
    }
}

int main(void) {
    cpu_set_t cpus;
    int all = own_cpus(&cpus);
    pthread_t thread;
    if (all > 1) { // clang's code: nothing has bound this thread so far
        CHECK_EQUAL(pthread_create(&thread, NULL, root, &all), 0);
        CHECK_EQUAL(pthread_join(thread, NULL), 0);
        CHECK_EQUAL(own_cpus(&cpus), all);
        CHECK(omp_get_num_places() > 1);
    }
    region();
    int place = omp_get_place_num(), count = omp_get_partition_num_places();
    CHECK_EQUAL(count, omp_get_num_places());
    for (int teams = 1; teams <= 8; teams++) {
        league(teams);
        CHECK_EQUAL(omp_get_place_num(), place);
        CHECK_EQUAL(omp_get_partition_num_places(), count);
    }
    region();
    printf("all in their places\n");
    return 0;
}
