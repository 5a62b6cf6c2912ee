// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Parallel loops: each schedule runs every iteration exactly once, on a thread of the team.

#include "set.h"

#include <omp.h>

enum { COUNT = 1003 };

static int visits[COUNT];

static void visit(int i) {
    CHECK(omp_get_thread_num() >= 0 && omp_get_thread_num() < omp_get_num_threads());
#pragma omp atomic
    visits[i]++;
}

static void expect_all_once(const char *schedule) {
    long weighted = 0;
    for (int i = 0; i < COUNT; i++) {
        CHECK_EQUAL(visits[i], 1);
        weighted += (long)i * visits[i];
        visits[i] = 0;
    }
    printf("  %s: %ld\n", schedule, weighted);
}

static void every_schedule(void) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < COUNT; i++) {
        visit(i);
    }
    expect_all_once("static");
#pragma omp parallel for schedule(static, 7)
    for (int i = 0; i < COUNT; i++) {
        visit(i);
    }
    expect_all_once("static, 7");
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < COUNT; i++) {
        visit(i);
    }
    expect_all_once("dynamic");
#pragma omp parallel for schedule(dynamic, 16)
    for (int i = 0; i < COUNT; i++) {
        visit(i);
    }
    expect_all_once("dynamic, 16");
#pragma omp parallel for schedule(guided)
    for (int i = COUNT - 1; i >= 0; i--) {
        visit(i);
    }
    expect_all_once("guided");
#pragma omp parallel for schedule(guided, 8)
    for (int i = 0; i < COUNT; i++) {
        visit(i);
    }
    expect_all_once("guided, 8");
#pragma omp parallel for schedule(auto)
    for (int i = 0; i < COUNT; i++) {
        visit(i);
    }
    expect_all_once("auto");
#pragma omp parallel for schedule(nonmonotonic : dynamic, 5)
    for (int i = 0; i < COUNT; i++) {
        visit(i);
    }
    expect_all_once("nonmonotonic: dynamic, 5");
}

static void schedule_at_run_time(void) {
    static const struct {
        omp_sched_t kind;
        int chunk;
        const char *name;
    } kinds[] = {{omp_sched_static, 0, "runtime static"},
                 {omp_sched_static, 11, "runtime static, 11"},
                 {omp_sched_dynamic, 3, "runtime dynamic, 3"},
                 {omp_sched_guided, 4, "runtime guided, 4"},
                 {omp_sched_auto, 0, "runtime auto"}};
    omp_sched_t old_kind;
    int old_chunk;
    omp_get_schedule(&old_kind, &old_chunk);
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        omp_set_schedule(kinds[kind].kind, kinds[kind].chunk);
#pragma omp parallel for schedule(runtime)
        for (int i = 0; i < COUNT; i++) {
            visit(i);
        }
        expect_all_once(kinds[kind].name);
    }
    omp_set_schedule(old_kind, old_chunk);
}

// Chunks of a static schedule go round the team in order.
static void static_owners(void) {
    int owners[64];
    int team = 0;
#pragma omp parallel
    {
#pragma omp single
        team = omp_get_num_threads();
#pragma omp for schedule(static, 2)
        for (int i = 0; i < 64; i++) {
            owners[i] = omp_get_thread_num();
        }
    }
    for (int i = 0; i < 64; i++) {
        CHECK_EQUAL(owners[i], i / 2 % team);
    }
}

static void collapse_and_order(void) {
    long sum = 0;
#pragma omp parallel for collapse(3) reduction(+ : sum) schedule(dynamic, 4)
    for (int a = 0; a < 7; a++) {
        for (int b = 2; b < 12; b += 3) {
            for (int c = 9; c > 0; c -= 2) {
                sum += 100L * a + 10L * b + c;
            }
        }
    }
    printf("  collapse: %ld\n", sum);

    int next = 0;
#pragma omp parallel for ordered schedule(dynamic, 1)
    for (int i = 0; i < 200; i++) {
#pragma omp ordered
        {
            CHECK_EQUAL(next, i);
            next++;
        }
    }
    printf("  ordered: %d\n", next);

    int last = -1;
    int first = 40;
#pragma omp parallel for lastprivate(last) firstprivate(first) schedule(guided)
    for (int i = 0; i < 77; i++) {
        first += 1;
        CHECK(first > 40);
        last = i * 3;
    }
    printf("  lastprivate: %d, firstprivate: %d\n", last, first);
}

// Two loops without a barrier between them, and doacross dependences between iterations.
static void nowait_and_doacross(void) {
    static int left[COUNT];
    static int right[COUNT];
#pragma omp parallel
    {
#pragma omp for schedule(static) nowait
        for (int i = 0; i < COUNT; i++) {
            left[i] = i;
        }
#pragma omp for schedule(static) nowait
        for (int i = 0; i < COUNT; i++) {
            right[i] = left[i] + 1;
        }
    }
    for (int i = 0; i < COUNT; i++) {
        CHECK_EQUAL(right[i], i + 1);
    }

    // Few links: libgomp spins at each, and a team larger than the machine waits out a time slice there.
    enum { LINKS = 40 };
    static long chain[LINKS + 1];
    chain[0] = 1;
#pragma omp parallel for ordered(1) schedule(static, 8)
    for (int i = 1; i <= LINKS; i++) {
#pragma omp ordered depend(sink : i - 1)
        chain[i] = (chain[i - 1] * 31 + i) % 1000003;
#pragma omp ordered depend(source)
    }
    printf("  doacross: %ld\n", chain[LINKS]);
}

static void simd(void) {
    float numbers[256];
#pragma omp parallel for simd schedule(simd : static)
    for (int i = 0; i < 256; i++) {
        numbers[i] = (float)i * 0.5f;
    }
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < 256; i++) {
        sum += numbers[i];
    }
    printf("  simd: %.1f\n", (double)sum);
}

void part_loops(void) {
    every_schedule();
    schedule_at_run_time();
    static_owners();
    collapse_and_order();
    nowait_and_doacross();
    simd();
}
