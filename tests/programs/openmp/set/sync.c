// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Synchronisation inside a team: sections, single, master, critical, atomic, locks.

#include "set.h"

#include <omp.h>

enum { ROUNDS = 400 };

void part_sections(void) {
    int ran[5] = {0};
    int last = 0;
#pragma omp parallel
    {
#pragma omp sections lastprivate(last)
        {
#pragma omp section
            {
#pragma omp atomic
                ran[0]++;
                last = 10;
            }
#pragma omp section
            {
#pragma omp atomic
                ran[1]++;
                last = 11;
            }
#pragma omp section
            {
#pragma omp atomic
                ran[2]++;
                last = 12;
            }
        }
        int shared = 0;
#pragma omp single copyprivate(shared)
        {
            ran[3]++;
            shared = 42;
        }
        CHECK_EQUAL(shared, 42);
#pragma omp master
        {
            CHECK_EQUAL(omp_get_thread_num(), 0);
            ran[4]++;
        }
#pragma omp barrier
        CHECK_EQUAL(ran[3] + ran[4], 2);
    }
    printf("  sections %d%d%d, last %d, single %d, master %d\n", ran[0], ran[1], ran[2], last, ran[3],
           ran[4]);
}

void part_critical(void) {
    long plain = 0;
    long named = 0;
    int team = 0;
#pragma omp parallel
    {
#pragma omp single
        team = omp_get_num_threads();
        for (int i = 0; i < ROUNDS; i++) {
#pragma omp critical
            plain++;
#pragma omp critical(other)
            named += 2;
        }
    }
    CHECK_EQUAL(plain, (long)team * ROUNDS);
    CHECK_EQUAL(named, 2L * team * ROUNDS);
    printf("  counted on all threads\n");
}

void part_atomic(void) {
    long counter = 0;
    double real = 0.0;
    long product = 1;
    int seen[64 * ROUNDS] = {0};
    int ticket = 0;
    int team = 0;
#pragma omp parallel
    {
#pragma omp single
        {
            team = omp_get_num_threads();
            CHECK(team <= 64);
        }
        for (int i = 0; i < ROUNDS; i++) {
#pragma omp atomic
            counter += 3;
#pragma omp atomic update
            real += 0.25;
            int mine;
#pragma omp atomic capture seq_cst
            mine = ticket++;
#pragma omp atomic
            seen[mine]++;
        }
#pragma omp single
        {
#pragma omp atomic write
            product = 7;
        }
        long copy;
#pragma omp atomic read
        copy = product;
        CHECK_EQUAL(copy, 7);
    }
    CHECK_EQUAL(counter, 3L * team * ROUNDS);
    CHECK(real == 0.25 * team * ROUNDS);
    for (int i = 0; i < team * ROUNDS; i++) {
        CHECK_EQUAL(seen[i], 1);
    }

    // One thread hands a value to the next through a flag with flushes.
    int flag = 0;
    int message = 0;
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
        {
            message = 99;
#pragma omp flush
#pragma omp atomic write
            flag = 1;
        }
#pragma omp section
        {
            int ready = 0;
            while (!ready) {
#pragma omp atomic read
                ready = flag;
#pragma omp taskyield
            }
#pragma omp flush
            CHECK_EQUAL(message, 99);
        }
    }
    printf("  counters, tickets and flags agree\n");
}

void part_locks(void) {
    omp_lock_t lock;
    omp_nest_lock_t nest;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    long under_lock = 0;
    long under_nest = 0;
    long tries = 0;
    int team = 0;
#pragma omp parallel
    {
#pragma omp single
        team = omp_get_num_threads();
        for (int i = 0; i < ROUNDS; i++) {
            omp_set_lock(&lock);
            under_lock++;
            omp_unset_lock(&lock);
            omp_set_nest_lock(&nest);
            omp_set_nest_lock(&nest);
            under_nest++;
            CHECK_EQUAL(omp_test_nest_lock(&nest), 3);
            omp_unset_nest_lock(&nest);
            omp_unset_nest_lock(&nest);
            omp_unset_nest_lock(&nest);
        }
        while (!omp_test_lock(&lock)) {
#pragma omp taskyield
        }
        tries++;
        omp_unset_lock(&lock);
    }
    omp_destroy_nest_lock(&nest);
    omp_destroy_lock(&lock);
    CHECK_EQUAL(under_lock, (long)team * ROUNDS);
    CHECK_EQUAL(under_nest, (long)team * ROUNDS);
    CHECK_EQUAL(tries, team);
    printf("  plain, nested and tested locks exclude\n");
}
