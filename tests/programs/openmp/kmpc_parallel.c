// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Parallel regions with few and many variables, by value and by reference; false `if`; num_threads.

#include "../common/check.h"

#include <omp.h>

static void none(void) {
    static int members;
    members = 0;
#pragma omp parallel num_threads(4)
#pragma omp atomic
    members++;
    CHECK_EQUAL(members, 4);
}

static void by_value(void) {
    int i = 5;
    double d = 2.5;
    float f = 0.25f;
    long l = -7;
    char c = 'x';
    int right = 0;
#pragma omp parallel num_threads(4) firstprivate(i, d, f, l, c) reduction(+ : right)
    {
        right += i == 5 && d == 2.5 && f == 0.25f && l == -7 && c == 'x';
        i = (int)(d = f = (float)(l = c = 0));
    }
    CHECK_EQUAL(right, 4);
    CHECK_EQUAL(i, 5);
}

// Those from the fifth on go to the stack; odd and even numbers of them.
static void five(void) {
    int a = 1, b = 2, c = 3, d = 4, e = 5, sum = 0;
#pragma omp parallel num_threads(3)
    {
#pragma omp critical
        sum += a + b + c + d + e;
    }
    CHECK_EQUAL(sum, 45);
}

static void many(void) {
    long a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10, k = 11, l = 12, m = 13,
         n = 14;
    long o = 15, p = 16, q = 17, r = 18, s = 19, t = 20, u = 21, v = 22, w = 23, x = 24, y = 25, z = 26,
         sum = 0;
#pragma omp parallel num_threads(4) firstprivate(b, d, f, h, j, l, n, p, r, t, v, x, z)
    {
        // Vector code on the stack faults if it is not aligned.
        double area[8] __attribute__((aligned(16)));
        for (int index = 0; index < 8; index++) {
            area[index] = (double)(a + index);
        }
        long all = a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p + q + r + s + t + u + v + w +
                   x + y + z;
#pragma omp atomic
        sum += all + (long)area[3] - 4;
    }
    CHECK_EQUAL(sum, 4 * 351);
}

static void serial(void) {
    for (int rounds = 0; rounds < 3; rounds++) {
#pragma omp parallel if (rounds > 5) num_threads(4)
        {
            CHECK_EQUAL(omp_get_num_threads(), 1);
            CHECK_EQUAL(omp_get_thread_num(), 0);
            CHECK_EQUAL(omp_get_level(), 1);
            CHECK_EQUAL(omp_get_active_level(), 0);
            CHECK(!omp_in_parallel());
        }
        CHECK_EQUAL(omp_get_level(), 0);
        // The clause was for that region only.
        int members = 0;
        omp_set_num_threads(2);
#pragma omp parallel reduction(+ : members)
        members += 1;
        CHECK_EQUAL(members, 2);
    }
}

static void changing(void) {
    for (int size = 1; size < 10; size++) {
        int seen[10] = {0}, gtids = 0;
#pragma omp parallel num_threads(size) reduction(+ : gtids)
        {
            CHECK_EQUAL(omp_get_num_threads(), size);
            seen[omp_get_thread_num()]++;
            gtids += 1;
        }
        for (int number = 0; number < size; number++) {
            CHECK_EQUAL(seen[number], 1);
        }
        CHECK_EQUAL(gtids, size);
    }
}

static void in_each_other(void) {
    omp_set_max_active_levels(3);
    int leaves = 0;
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(3)
    {
        int outer = omp_get_ancestor_thread_num(1);
        CHECK(outer >= 0 && outer < 2);
#pragma omp parallel num_threads(2) if (outer == 1)
        {
            CHECK_EQUAL(omp_get_num_threads(), outer == 1 ? 2 : 1);
#pragma omp atomic
            leaves++;
        }
#pragma omp barrier
    }
    CHECK_EQUAL(leaves, 3 + 6);
    omp_set_max_active_levels(1);
}

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"none", none},     {"by value", by_value}, {"five", five},           {"many", many},
        {"serial", serial}, {"changing", changing}, {"nested", in_each_other}};
    return run_parts(parts, sizeof parts / sizeof parts[0], argc, argv);
}
