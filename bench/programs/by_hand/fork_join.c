// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A thread for each element, as NDPC was published with.

#include "by_hand.h"

#include "fork_join.h"

static int32_t *results;
static size_t count;

static int32_t work(void) {
    fork_join_multiply(results, count);
    uint32_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (uint32_t)results[i];
    }
    return (int32_t)sum;
}

static void prepare(size_t size) {
    count = size;
    results = by_hand_numbers(count);
}

static void release(void) { free(results); }

BY_HAND_MAIN(prepare, work, release)
