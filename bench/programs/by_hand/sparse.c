// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A sparse matrix in rows times a vector.

#include "by_hand.h"

static size_t count;
static size_t *starts;
static int32_t *columns, *result;
static double *values, *vector;

static int32_t work(void) {
#pragma omp parallel for if (count > 1000)
    for (size_t i = 0; i < count; i++) {
        double sum = 0;
        for (size_t n = starts[i]; n < starts[i + 1]; n++) {
            sum += values[n] * vector[columns[n]];
        }
        // Twice the sum is a whole number.
        result[i] = (int32_t)(2 * sum);
    }
    return by_hand_digest(result, count);
}

static void prepare(size_t size) {
    count = size;
    starts = by_hand_memory(count + 1, sizeof *starts);
    starts[0] = 0;
    for (size_t i = 0; i < count; i++) {
        starts[i + 1] = starts[i] + i % 31;
    }
    columns = by_hand_memory(starts[count], sizeof *columns);
    values = by_hand_memory(starts[count], sizeof *values);
    vector = by_hand_memory(count, sizeof *vector);
    result = by_hand_memory(count, sizeof *result);
#pragma omp parallel for
    for (size_t i = 0; i < count; i++) {
        for (size_t n = starts[i]; n < starts[i + 1]; n++) {
            size_t k = n - starts[i];
            columns[n] = by_hand_scramble((uint32_t)(i + k * 7919)) % (int32_t)count;
            values[n] = (double)((i + k) % 16) / 2;
        }
        vector[i] = (double)(i % 7);
        result[i] = 0;
    }
}

static void release(void) {
    free(starts);
    free(columns);
    free(values);
    free(vector);
    free(result);
}

BY_HAND_MAIN(prepare, work, release)
