// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Dot product of two vectors.

#include "by_hand.h"

static double *a, *b;
static size_t count;

static int32_t work(void) {
    double sum = 0;
#pragma omp parallel for simd reduction(+ : sum) if (parallel : count > 10000)
    for (size_t i = 0; i < count; i++) {
        sum += a[i] * b[i];
    }
    return (int32_t)sum;
}

static void prepare(size_t size) {
    count = size;
    a = by_hand_memory(count, sizeof *a);
    b = by_hand_memory(count, sizeof *b);
#pragma omp parallel for
    for (size_t i = 0; i < count; i++) {
        a[i] = by_hand_scramble((uint32_t)i) % 16;
        b[i] = by_hand_scramble((uint32_t)(i + count)) % 16;
    }
}

static void release(void) {
    free(a);
    free(b);
}

BY_HAND_MAIN(prepare, work, release)
