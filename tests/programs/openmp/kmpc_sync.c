// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// single, copyprivate, master, masked, critical, barriers and reductions of every kind.

#include "../common/check.h"

#include <omp.h>

static void single(void) {
    int executed = 0, waited = 0;
#pragma omp parallel
    for (int round = 0; round < 500; round++) {
#pragma omp single nowait
        {
#pragma omp atomic
            executed++;
        }
#pragma omp single
        waited++;
        CHECK_EQUAL(waited, round + 1);
#pragma omp barrier
    }
    CHECK_EQUAL(executed, 500);
}

static void copyprivate(void) {
#pragma omp parallel
    {
        int number = -1;
        double array[3] = {0};
        for (int round = 0; round < 100; round++) {
#pragma omp single copyprivate(number, array)
            {
                number = round;
                array[2] = round * 0.5;
            }
            CHECK_EQUAL(number, round);
            CHECK(array[2] == round * 0.5);
            number = -2;
        }
    }
}

static void primary(void) {
    int ran = 0, masked = 0;
#pragma omp parallel
    {
#pragma omp master
        {
            CHECK_EQUAL(omp_get_thread_num(), 0);
            ran++;
        }
#ifdef __clang__
#pragma omp masked filter(omp_get_num_threads() - 1)
        {
            CHECK_EQUAL(omp_get_thread_num(), omp_get_num_threads() - 1);
            masked++;
        }
#else
#pragma omp single
        masked++;
#endif
    }
    CHECK_EQUAL(ran, 1);
    CHECK_EQUAL(masked, 1);
}

static void critical(void) {
    long plain = 0, named = 0, hinted = 0;
#pragma omp parallel for
    for (int i = 0; i < 20000; i++) {
#pragma omp critical
        plain++;
#pragma omp critical(a)
        named += 2;
#pragma omp critical(b) hint(omp_sync_hint_contended)
        hinted += 3;
#pragma omp flush
    }
    CHECK_EQUAL(plain, 20000);
    CHECK_EQUAL(named, 40000);
    CHECK_EQUAL(hinted, 60000);
}

static void reductions(void) {
    for (int size = 1; size < 9; size++) {
        long sum = 1, product = 1, all = ~0l;
        double real = 0.5;
        float least = 1e9f;
        int array[6] = {0}, both = 1;
#pragma omp parallel num_threads(size)
        {
#pragma omp for reduction(+ : sum, real) reduction(min : least) reduction(& : all)
            for (int i = 0; i < 100; i++) {
                sum += i;
                real += 0.25;
                all &= ~(1l << (i % 40));
                least = least < (float)(i - 50) ? least : (float)(i - 50);
            }
            // All see the result.
            CHECK_EQUAL(sum, 4951);
#pragma omp for reduction(* : product) reduction(+ : array[:6]) reduction(&& : both)
            for (int i = 0; i < 12; i++) {
                product *= 2;
                array[i % 6] += i;
                both = both && i >= 0;
            }
            CHECK_EQUAL(product, 4096);
        }
        CHECK(real == 25.5);
        CHECK(least == -50 && both == 1 && all == ~0xffffffffffl);
        for (int i = 0; i < 6; i++) {
            CHECK_EQUAL(array[i], 2 * i + 6);
        }
    }
}

struct pair {
    long low, high;
};
#pragma omp declare reduction(widen                                                                          \
                              : struct pair                                                                  \
                              : omp_out.low = omp_out.low < omp_in.low ? omp_out.low : omp_in.low,           \
                                omp_out.high = omp_out.high > omp_in.high ? omp_out.high : omp_in.high)      \
    initializer(omp_priv = omp_orig)

static void declared(void) {
    struct pair range = {0, 0};
#pragma omp parallel for reduction(widen : range)
    for (int i = -100; i < 300; i++) {
        range.low = range.low < i ? range.low : i;
        range.high = range.high > i ? range.high : i;
    }
    CHECK_EQUAL(range.low, -100);
    CHECK_EQUAL(range.high, 299);
}

static void many_variables(void) {
    long a = 0, b = 0, c = 0, d = 0;
#pragma omp parallel reduction(+ : a, b, c, d)
    {
        a += 1;
        b += 2;
        c += 3;
        d += omp_get_num_threads();
    }
    CHECK_EQUAL(b, 2 * a);
    CHECK_EQUAL(c, 3 * a);
    CHECK_EQUAL(d, a * a);
}

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"single", single},
        {"copyprivate", copyprivate},
        {"primary", primary},
        {"critical", critical},
        {"reductions", reductions},
        {"declared", declared},
        {"variables", many_variables},
    };
    return run_parts(parts, sizeof parts / sizeof parts[0], argc, argv);
}
