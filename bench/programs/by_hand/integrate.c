// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Adaptive integration by Simpson's rule: where the function is not smooth, halves are integrated apart, by
// tasks down to a depth.

#include "by_hand.h"

#include <math.h>

enum { TASK_DEPTH = 8, SERIAL_DIGITS = 8 };

static double allowed;
static unsigned depth;

static double g(double x) { return exp(-x) * sin(8.0 * x) + 1.0 / (x + 0.01); }

static double simpson(double a, double b) { return (b - a) / 6.0 * (g(a) + 4.0 * g((a + b) / 2.0) + g(b)); }

static double integral(double a, double b, double whole, double most, unsigned levels) {
    double middle = (a + b) / 2.0, left = simpson(a, middle), right = simpson(middle, b);
    double error = left + right - whole, one, other;
    if (fabs(error) <= 15.0 * most) {
        return left + right + error / 15.0;
    }
    if (levels == 0) {
        one = integral(a, middle, left, most / 2.0, 0);
        other = integral(middle, b, right, most / 2.0, 0);
        return one + other;
    }
#pragma omp task shared(one)
    one = integral(a, middle, left, most / 2.0, levels - 1);
    other = integral(middle, b, right, most / 2.0, levels - 1);
#pragma omp taskwait
    return one + other;
}

static int32_t work(void) {
    double result = 0;
#pragma omp parallel if (depth > 0)
#pragma omp single
    result = integral(0.0, 4.0, simpson(0.0, 4.0), allowed, depth);
    return (int32_t)nearbyint(1000000.0 * result);
}

// The size is the number of digits.
static void prepare(size_t size) {
    allowed = pow(0.1, (double)size);
    depth = size > SERIAL_DIGITS ? TASK_DEPTH : 0;
}

static void release(void) {}

BY_HAND_MAIN(prepare, work, release)
