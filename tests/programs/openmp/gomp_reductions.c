// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Reductions that tasks take part in, in every construct that can have them; scans; lastprivate(conditional).

#include "../common/check.h"

#include <complex.h>
#include <omp.h>

enum { N = 60 };

static int threads;

struct pair {
    long sum;
    int max;
};
#pragma omp declare reduction(join                                                                           \
                              : struct pair                                                                  \
                              : omp_out.sum += omp_in.sum,                                                   \
                                omp_out.max = omp_in.max > omp_out.max ? omp_in.max : omp_out.max)           \
    initializer(omp_priv = (struct pair){0, -1})

static void plain(int len) {
    long sum = 0;
    double product = 1;
    long double large = 0;
    double _Complex turn = 1;
    struct pair pair = {0, -1};
    int array[len];
    memset(array, 0, sizeof array);
#pragma omp parallel for num_threads(threads) reduction(+ : sum, large, array[ : len])                        \
    reduction(* : product, turn) reduction(join : pair)
    for (int i = 0; i < N; i++) {
        sum += i;
        large += i;
        array[i % len]++;
        product *= i % 10 == 0 ? 2 : 1;
        turn *= I;
        pair.sum += i;
        pair.max = i > pair.max ? i : pair.max;
    }
    CHECK_EQUAL(sum, N * (N - 1) / 2);
    CHECK(large == sum && product == 64 && turn == 1);
    CHECK_EQUAL(pair.sum, sum);
    CHECK_EQUAL(pair.max, N - 1);
    for (int i = 0; i < len; i++) {
        CHECK_EQUAL(array[i], N / len);
    }
}

static long below(int n) {
    long sum = 0;
#pragma omp taskgroup task_reduction(+ : sum)
    {
        for (int i = 0; i < n; i++) {
#pragma omp task in_reduction(+ : sum)
            {
                sum += i;
                // A copy's address is good, too.
#pragma omp task in_reduction(+ : sum)
                sum += 1000;
            }
        }
    }
    return sum;
}

static void groups(int len) {
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
        CHECK_EQUAL(below(N), 1000 * N + N * (N - 1) / 2);
        long array[len];
        struct pair pair = {100, 3};
        double product = 3;
        memset(array, 0, sizeof array);
        // Groups in groups: an inner task reaches items of both.
#pragma omp taskgroup task_reduction(+ : array[:len])
        {
#pragma omp taskgroup task_reduction(* : product)
            {
                for (int i = 0; i < N; i++) {
#pragma omp task in_reduction(* : product) in_reduction(+ : array[:len])
                    {
                        array[i % len] += i;
                        product *= i % 20 == 0 ? 2 : 1;
                    }
                }
            }
            CHECK(product == 24);
        }
        long sum = 0;
        for (int i = 0; i < len; i++) {
            sum += array[i];
        }
        CHECK_EQUAL(sum, N * (N - 1) / 2);
        // A type and operators of the program's own.
#pragma omp taskgroup task_reduction(join : pair)
        for (int i = 0; i < N; i++) {
#pragma omp task in_reduction(join : pair)
            {
                pair.sum++;
                pair.max = i > pair.max ? i : pair.max;
            }
        }
        CHECK_EQUAL(pair.sum, 100 + N);
        CHECK_EQUAL(pair.max, N - 1);
    }
}

static void taskloops(void) {
    long sum = 0, none = 5, inner = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
#pragma omp taskloop reduction(+ : sum) grainsize(3)
        for (int i = 0; i < N; i++) {
            sum += i;
        }
#pragma omp taskloop reduction(+ : none)
        for (int i = N; i < N - 10; i++) {
            none += i;
        }
#pragma omp taskgroup task_reduction(+ : inner)
#pragma omp taskloop in_reduction(+ : inner) num_tasks(9)
        for (unsigned long i = N; i > 0; i--) {
            inner += (long)i;
        }
    }
    CHECK_EQUAL(sum, N * (N - 1) / 2);
    CHECK_EQUAL(none, 5);
    CHECK_EQUAL(inner, N * (N + 1) / 2);
}

// reduction(task, ...) of regions and of worksharing constructs.
static void modifiers(int len) {
    long sum = 10, sections = 0, scope = 0, loop = 0, fixed = 0, ordered = 0;
    int array[len];
    memset(array, 0, sizeof array);
#pragma omp parallel num_threads(threads) reduction(task, + : sum, array[:len])
    {
        for (int i = 0; i < 5; i++) {
#pragma omp task in_reduction(+ : sum) in_reduction(+ : array[:len])
            {
                sum += i;
                array[i % len]++;
            }
        }
        sum += 100;
    }
    CHECK_EQUAL(sum, 10 + 110 * threads);
    long all = 0;
    for (int i = 0; i < len; i++) {
        all += array[i];
    }
    CHECK_EQUAL(all, 5 * threads);
#pragma omp parallel num_threads(threads)
    for (int round = 1; round <= 3; round++) {
#pragma omp for schedule(dynamic, 3) reduction(task, + : loop)
        for (int i = 0; i < N; i++) {
#pragma omp task in_reduction(+ : loop)
            loop += i;
            loop++;
        }
        CHECK_EQUAL(loop, round * (N * (N - 1) / 2 + N));
#pragma omp barrier
#pragma omp for schedule(static) reduction(task, + : fixed)
        for (unsigned long i = 0; i < N; i++) {
#pragma omp task in_reduction(+ : fixed)
            fixed += (long)i;
        }
        CHECK_EQUAL(fixed, round * (N * (N - 1) / 2));
#pragma omp barrier
#pragma omp for ordered schedule(guided) reduction(task, + : ordered)
        for (int i = 0; i < N; i++) {
#pragma omp task in_reduction(+ : ordered)
            ordered += i;
#pragma omp ordered
            ordered++;
        }
        CHECK_EQUAL(ordered, round * (N * (N - 1) / 2 + N));
#pragma omp barrier
#pragma omp sections reduction(task, + : sections)
        {
#pragma omp section
#pragma omp task in_reduction(+ : sections)
            sections += 1;
#pragma omp section
            sections += 10;
#pragma omp section
#pragma omp task in_reduction(+ : sections)
            sections += 100;
        }
        CHECK_EQUAL(sections, 111 * round);
#pragma omp barrier
#pragma omp scope reduction(task, + : scope)
        {
#pragma omp task in_reduction(+ : scope)
            scope += 7;
        }
        CHECK_EQUAL(scope, 7 * threads * round);
#pragma omp barrier
    }
}

static int conditional, conditional_section = 0;

static void orphaned_conditional(int n, const int *wanted) {
    conditional = -1;
#pragma omp barrier
#pragma omp for lastprivate(conditional : conditional) schedule(dynamic, 2)
    for (int i = 0; i < n; i++) {
        if (wanted[i]) {
            conditional = i;
        }
    }
    CHECK_EQUAL(conditional, 41);
#pragma omp barrier
    // Upwards: gcc 12 gets loops downwards wrong.
#pragma omp for lastprivate(conditional : conditional) schedule(static)
    for (long i = 0; i < n - 20; i++) {
        if (wanted[i]) {
            conditional = (int)i;
        }
    }
    CHECK_EQUAL(conditional, 17);
#pragma omp barrier
#pragma omp for lastprivate(conditional : conditional) ordered schedule(runtime)
    for (unsigned long i = 0; i < (unsigned long)n; i++) {
        if (wanted[i]) {
            conditional = (int)i;
        }
    }
    CHECK_EQUAL(conditional, 41);
#pragma omp sections lastprivate(conditional : conditional_section)
    {
#pragma omp section
        conditional_section = wanted[3] ? 1 : 5;
#pragma omp section
        if (wanted[17]) {
            conditional_section = 2;
        }
#pragma omp section
        if (wanted[18]) {
            conditional_section = 3;
        }
    }
    CHECK_EQUAL(conditional_section, 2);
}

// Each member has a group of its own around the loop that all of them share.
static void around_loops(void) {
    int sum = 0, product = 0, mine = 0;
#pragma omp parallel num_threads(threads) reduction(+ : mine)
    {
#pragma omp taskgroup task_reduction(+ : mine)
        {
#pragma omp for schedule(static, 1) reduction(task, + : sum) reduction(+ : product)
            for (int i = 0; i < N; i++) {
                product++;
#pragma omp taskloop in_reduction(+ : sum, mine)
                for (int k = 0; k < 4; k++) {
                    sum++;
                    mine += 2;
                }
            }
        }
    }
    CHECK_EQUAL(sum, 4 * N);
    CHECK_EQUAL(mine, 8 * N);
    CHECK_EQUAL(product, N);
}

static void scans(void) {
    int in[N], sums[N], before[N];
    int sum = 0, later = 0;
    for (int i = 0; i < N; i++) {
        in[i] = i * i % 7;
    }
#pragma omp parallel num_threads(threads)
    {
#pragma omp for reduction(inscan, + : sum)
        for (int i = 0; i < N; i++) {
            sum += in[i];
#pragma omp scan inclusive(sum)
            sums[i] = sum;
        }
#pragma omp for reduction(inscan, + : later)
        for (int i = 0; i < N; i++) {
            before[i] = later;
#pragma omp scan exclusive(later)
            later += in[i];
        }
    }
    int expected = 0;
    for (int i = 0; i < N; i++) {
        CHECK_EQUAL(before[i], expected);
        expected += in[i];
        CHECK_EQUAL(sums[i], expected);
    }
    CHECK_EQUAL(sum, expected);
    CHECK_EQUAL(later, expected);
}

int main(void) {
    int wanted[N] = {0};
    wanted[3] = wanted[17] = wanted[41] = 1;
    for (threads = 1; threads <= 8; threads *= 2) {
        for (int round = 0; round < 10; round++) {
            plain(4);
            groups(7);
            taskloops();
            modifiers(3);
#pragma omp parallel num_threads(threads)
            orphaned_conditional(N, wanted);
            scans();
            around_loops();
        }
    }
    // Outside of all regions, and last: behind it libgomp 12 hangs at the end of a region.
    CHECK_EQUAL(below(N), 1000 * N + N * (N - 1) / 2);
    printf("reductions ok\n");
    return 0;
}
