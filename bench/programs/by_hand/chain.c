// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A chain of elementwise operations from two vectors to another one, in one pass.

#include "by_hand.h"

#include <math.h>

static double *a, *b, *result;
static size_t count;

static int32_t rounded(double number) { return (int32_t)nearbyint(number); }

static int32_t work(void) {
#pragma omp parallel for if (count > 10000)
    for (size_t i = 0; i < count; i++) {
        result[i] = a[i] * (b[i] + 2.0) - 0.5 * b[i] * b[i] + a[i];
    }
    return rounded(result[count / 3]) + rounded(result[count - 1]);
}

static void prepare(size_t size) {
    count = size;
    a = by_hand_memory(count, sizeof *a);
    b = by_hand_memory(count, sizeof *b);
    result = by_hand_memory(count, sizeof *result);
#pragma omp parallel for
    for (size_t i = 0; i < count; i++) {
        a[i] = (double)(i % 1000);
        b[i] = by_hand_scramble((uint32_t)i) % 16;
        result[i] = 0;
    }
}

static void release(void) {
    free(a);
    free(b);
    free(result);
}

BY_HAND_MAIN(prepare, work, release)
