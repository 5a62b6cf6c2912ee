// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The line through points with the least squares of the distances: three passes.

#include "by_hand.h"

#include <math.h>

static double *x, *y;
static size_t count;

static int32_t rounded(double number) { return (int32_t)nearbyint(number); }

static int32_t work(void) {
    double n = (double)count, sum_x = 0, sum_y = 0, stt = 0, sty = 0, chi2 = 0;
#pragma omp parallel for simd reduction(+ : sum_x, sum_y) if (parallel : count > 10000)
    for (size_t i = 0; i < count; i++) {
        sum_x += x[i];
        sum_y += y[i];
    }
    double xa = sum_x / n, ya = sum_y / n;
#pragma omp parallel for simd reduction(+ : stt, sty) if (parallel : count > 10000)
    for (size_t i = 0; i < count; i++) {
        stt += (x[i] - xa) * (x[i] - xa);
        sty += (x[i] - xa) * y[i];
    }
    double b = sty / stt, a = ya - xa * b;
#pragma omp parallel for simd reduction(+ : chi2) if (parallel : count > 10000)
    for (size_t i = 0; i < count; i++) {
        double distance = y[i] - a - b * x[i];
        chi2 += distance * distance;
    }
    double deviation_a = sqrt((1 / n + xa * xa / stt) * chi2 / n), deviation_b = sqrt(chi2 / n / stt);
    return rounded(1e3 * a) + rounded(1e3 * b) + rounded(1e6 * deviation_a) + rounded(1e6 * deviation_b);
}

static void prepare(size_t size) {
    count = size;
    x = by_hand_memory(count, sizeof *x);
    y = by_hand_memory(count, sizeof *y);
#pragma omp parallel for
    for (size_t i = 0; i < count; i++) {
        x[i] = (double)(i % 1024);
        y[i] = 3 * x[i] + by_hand_scramble((uint32_t)i) % 64;
    }
}

static void release(void) {
    free(x);
    free(y);
}

BY_HAND_MAIN(prepare, work, release)
