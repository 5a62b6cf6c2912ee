// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Reductions: every operator of C, array sections, operators declared by the program, and tasks.

#include "set.h"

#include <limits.h>
#include <omp.h>

enum { COUNT = 5000 };

static void operators(void) {
    long sum = 10;
    long difference = 0;
    long product = 1;
    int least = INT_MAX;
    int most = INT_MIN;
    unsigned both = ~0u;
    unsigned either = 0;
    unsigned odd = 0;
    int all = 1;
    int any = 0;
#pragma omp parallel for reduction(+ : sum) reduction(- : difference) reduction(min : least)                   \
    reduction(max : most) reduction(& : both) reduction(| : either) reduction(^ : odd) reduction(&& : all)     \
    reduction(|| : any) schedule(dynamic, 13)
    for (int i = 0; i < COUNT; i++) {
        int value = (i * 7919) % COUNT - 100;
        sum += value;
        difference -= value;
        least = value < least ? value : least;
        most = value > most ? value : most;
        both &= (unsigned)i | 0xf0000u;
        either |= (unsigned)i & 0x0ff0u;
        odd ^= (unsigned)value;
        all = all && value > -101;
        any = any || value == 77;
    }
#pragma omp parallel for reduction(* : product)
    for (int i = 1; i <= 15; i++) {
        product *= i;
    }
    printf("  sum %ld, difference %ld, product %ld, least %d, most %d\n", sum, difference, product, least,
           most);
    printf("  and %x, or %x, xor %x, all %d, any %d\n", both, either, odd, all, any);
}

static void array_section(void) {
    long buckets[10] = {0};
#pragma omp parallel for reduction(+ : buckets[:10])
    for (int i = 0; i < COUNT; i++) {
        buckets[i % 10] += i;
    }
    for (int i = 0; i < 10; i++) {
        printf("%s%ld", i == 0 ? "  array " : " ", buckets[i]);
    }
    printf("\n");
}

struct extent {
    int low;
    int high;
};

#pragma omp declare reduction(widen                                                                          \
                              : struct extent                                                                \
                              : omp_out.low = omp_in.low < omp_out.low ? omp_in.low : omp_out.low,           \
                                omp_out.high = omp_in.high > omp_out.high ? omp_in.high : omp_out.high)      \
    initializer(omp_priv = {INT_MAX, INT_MIN})

static void declared(void) {
    struct extent extent = {INT_MAX, INT_MIN};
#pragma omp parallel for reduction(widen : extent)
    for (int i = 0; i < COUNT; i++) {
        int value = (i * 37) % 911 - 300;
        extent.low = value < extent.low ? value : extent.low;
        extent.high = value > extent.high ? value : extent.high;
    }
    printf("  declared %d to %d\n", extent.low, extent.high);
}

static void of_tasks(void) {
    long sum = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup task_reduction(+ : sum)
    {
        for (int i = 1; i <= 100; i++) {
#pragma omp task in_reduction(+ : sum) firstprivate(i)
            sum += (long)i * i;
        }
    }
    printf("  tasks %ld\n", sum);
}

void part_reductions(void) {
    operators();
    array_section();
    declared();
    of_tasks();
}
