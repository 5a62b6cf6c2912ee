// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What has become of the environment: the arguments are settings and what they should be, as in threads=4.
// Variables, such as OMP_NUM_THREADS=4, are set before the first use of OpenMP.

#define _GNU_SOURCE
#include "../common/check.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>

static omp_sched_t kind(void) {
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    return kind;
}

static int schedule(void) { return (int)((unsigned)kind() & 0x7fffffff); }
static int monotonic(void) { return (int)((unsigned)kind() >> 31); }

static int chunk(void) {
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    return chunk;
}

static int team(void) {
    int size = 0;
#pragma omp parallel
#pragma omp master
    size = omp_get_num_threads();
    return size;
}

// The size of the team in the second level.
static int inner_team(void) {
    int size = 0;
#pragma omp parallel
#pragma omp parallel
    if (omp_get_ancestor_thread_num(1) == 0 && omp_get_thread_num() == 0) {
        size = omp_get_num_threads();
    }
    return size;
}

static int inner_bind(void) {
    int bind = -1;
#pragma omp parallel
#pragma omp master
    bind = (int)omp_get_proc_bind();
    return bind;
}

static int bind(void) { return (int)omp_get_proc_bind(); }

// Processors in all places.
static int processors(void) {
    int sum = 0;
    for (int place = 0; place < omp_get_num_places(); place++) {
        sum += omp_get_place_num_procs(place);
    }
    return sum;
}

// The first processors of the places as decimal digits.
static int first(void) {
    int digits = 0, ids[1024];
    for (int place = 0; place < omp_get_num_places(); place++) {
        omp_get_place_proc_ids(place, ids);
        digits = 10 * digits + ids[0];
    }
    return digits;
}

// The members' places as decimal digits, in a team of this size. Each runs only on the processors of its
// place.
static int digits_of_places(int size) {
    int places[16] = {0}, digits = 0;
#pragma omp parallel num_threads(size)
    {
        int place = omp_get_place_num(), ids[1024];
        places[omp_get_thread_num()] = place;
        cpu_set_t set;
        CHECK_EQUAL(sched_getaffinity(0, sizeof set, &set), 0);
        CHECK_EQUAL(CPU_COUNT(&set), omp_get_place_num_procs(place));
        omp_get_place_proc_ids(place, ids);
        for (int at = 0; at < omp_get_place_num_procs(place); at++) {
            CHECK(CPU_ISSET((size_t)ids[at], &set));
        }
    }
    for (int number = 0; number < size; number++) {
        digits = 10 * digits + places[number];
    }
    return digits;
}

static int places_of_2(void) { return digits_of_places(2); }
static int places_of_4(void) { return digits_of_places(4); }
static int places_of_5(void) { return digits_of_places(5); }

// Rounded: the libraries add some.
static int stack_kib(void) {
    size_t bytes = 0;
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) {
        pthread_attr_t attr;
        void *bottom;
        pthread_getattr_np(pthread_self(), &attr);
        pthread_attr_getstack(&attr, &bottom, &bytes);
        pthread_attr_destroy(&attr);
    }
    return (int)(bytes / 65536 * 64);
}

// Whether memory of the default allocator is aligned to 256 bytes.
static int aligned(void) {
    int is_aligned = 1;
    for (int turn = 0; turn < 10; turn++) {
        is_aligned &= (size_t)omp_alloc(100, omp_null_allocator) % 256 == 0;
    }
    return is_aligned;
}

static int format_len(void) { return (int)omp_get_affinity_format(NULL, 0); }
static int allocator(void) { return (int)omp_get_default_allocator(); }

static const struct {
    const char *name;
    int (*get)(void);
} settings[] = {{"threads", omp_get_max_threads},
                {"procs", omp_get_num_procs},
                {"team", team},
                {"inner_team", inner_team},
                {"dynamic", omp_get_dynamic},
                {"levels", omp_get_max_active_levels},
                {"limit", omp_get_thread_limit},
                {"schedule", schedule},
                {"monotonic", monotonic},
                {"chunk", chunk},
                {"cancellation", omp_get_cancellation},
                {"priority", omp_get_max_task_priority},
                {"device", omp_get_default_device},
                {"teams", omp_get_max_teams},
                {"teams_limit", omp_get_teams_thread_limit},
                {"bind", bind},
                {"inner_bind", inner_bind},
                {"places", omp_get_num_places},
                {"place", omp_get_place_num},
                {"processors", processors},
                {"first", first},
                {"places_of_2", places_of_2},
                {"places_of_4", places_of_4},
                {"places_of_5", places_of_5},
                {"stack_kib", stack_kib},
                {"aligned", aligned},
                {"allocator", allocator},
                {"format_len", format_len}};

int main(int argc, char **argv) {
    for (int at = 1; at < argc; at++) {
        const char *value = strchr(argv[at], '=');
        CHECK(value != NULL);
        if (argv[at][0] >= 'A' && argv[at][0] <= 'Z') {
            CHECK_EQUAL(putenv(argv[at]), 0);
            continue;
        }
        size_t len = (size_t)(value - argv[at]), known = 0, count = sizeof settings / sizeof *settings;
        while (known < count &&
               (strlen(settings[known].name) != len || strncmp(settings[known].name, argv[at], len) != 0)) {
            known++;
        }
        CHECK(known < count);
        int is = settings[known].get();
        if (is != atoi(value + 1)) {
            fprintf(stderr, "%s is %d, not %s\n", settings[known].name, is, value + 1);
            return 99;
        }
    }
    printf("all as they should be\n");
    return 0;
}
