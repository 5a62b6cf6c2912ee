// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// New threads may run where their creator may, at that moment; what a thread does with its own CPUs, or
// somebody else with them, is over when it ends.

#include "set.h"

#include <sched.h>
#include <stdbool.h>

static cpu_set_t all;
static int last; // a CPU

static cpu_set_t one(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    return set;
}

static cpu_set_t own(void) {
    cpu_set_t set;
    CHECK_EQUAL(sched_getaffinity(0, sizeof set, &set), 0);
    return set;
}

// What a thread finds, and what a thread of it does; then it moves.
struct found {
    cpu_set_t cpus, childs;
    bool makes_another;
    int goes_to; // -1: stays
};

static void *look(void *argument) {
    struct found *found = argument;
    found->cpus = own();
    if (found->goes_to >= 0) {
        cpu_set_t place = one(found->goes_to);
        CHECK_EQUAL(found->goes_to == 0 ? sched_setaffinity(0, sizeof place, &place)
                                        : pthread_setaffinity_np(pthread_self(), sizeof place, &place),
                    0);
    }
    if (found->makes_another) {
        struct found other = {.goes_to = -1};
        pthread_t thread;
        CHECK_EQUAL(pthread_create(&thread, NULL, look, &other), 0);
        CHECK_EQUAL(pthread_join(thread, NULL), 0);
        found->childs = other.cpus;
    }
    return NULL;
}

static struct found thread_finds(const pthread_attr_t *attributes, bool makes_another, int goes_to) {
    struct found found = {.makes_another = makes_another, .goes_to = goes_to};
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, attributes, look, &found), 0);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    return found;
}

static void expect(cpu_set_t expected) {
    for (int round = 0; round < 3; round++) {
        struct found found = thread_finds(NULL, true, -1);
        CHECK(CPU_EQUAL(&found.cpus, &expected) && CPU_EQUAL(&found.childs, &expected));
        // A thread that moves takes those with it that it makes from then on, and nobody else.
        found = thread_finds(NULL, true, round % 2 == 0 ? 0 : last);
        cpu_set_t place = one(round % 2 == 0 ? 0 : last);
        CHECK(CPU_EQUAL(&found.cpus, &expected) && CPU_EQUAL(&found.childs, &place));
        found = thread_finds(NULL, false, -1);
        CHECK(CPU_EQUAL(&found.cpus, &expected));
    }
}

static void bind(cpu_set_t set) { CHECK_EQUAL(sched_setaffinity(0, sizeof set, &set), 0); }

void part_inherited(void) {
    all = own();
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        last = CPU_ISSET((size_t)cpu, &all) ? cpu : last;
    }
    expect(all);
    bind(one(last));
    expect(one(last));
    bind(one(0));
    expect(one(0));
    // Two CPUs, where that is not all.
    cpu_set_t two = one(0);
    CPU_SET((size_t)last, &two);
    bind(two);
    expect(two);
#ifdef __GLIBC__ // musl has no such attribute
    // A thread that asks for a CPU gets it.
    pthread_attr_t attributes;
    cpu_set_t asked = one(last);
    CHECK_EQUAL(pthread_attr_init(&attributes), 0);
    CHECK_EQUAL(pthread_attr_setaffinity_np(&attributes, sizeof asked, &asked), 0);
    struct found found = thread_finds(&attributes, true, -1);
    CHECK(CPU_EQUAL(&found.cpus, &asked) && CPU_EQUAL(&found.childs, &asked));
    CHECK_EQUAL(pthread_attr_destroy(&attributes), 0);
#endif
    bind(all);
    expect(all);
    printf("  threads begin where their creators may run\n");
}
