// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Batcher's bitonic sort of 2^k numbers: the network of the program in NESL, step by step over the whole
// array.

#include "by_hand.h"

enum { SERIAL = 1 << 13 };

static int32_t *input, *sorted;
static size_t count;

static void exchange(int32_t *all, size_t one, size_t other) {
    int32_t least = all[one] < all[other] ? all[one] : all[other];
    int32_t most = all[one] < all[other] ? all[other] : all[one];
    all[one] = least;
    all[other] = most;
}

// Pairs at a distance within each run of twice the distance; in the first step of a merge the second half is
// read backwards.
static void step(size_t distance, bool is_first) {
#pragma omp parallel for if (count > SERIAL)
    for (size_t pair = 0; pair < count / 2; pair++) {
        size_t within = pair % distance, run = (pair - within) * 2;
        exchange(sorted, run + within, is_first ? run + 2 * distance - 1 - within : run + within + distance);
    }
}

static int32_t work(void) {
    memcpy(sorted, input, count * sizeof *sorted);
    for (size_t half = 1; half < count; half *= 2) {
        step(half, true);
        for (size_t distance = half / 2; distance > 0; distance /= 2) {
            step(distance, false);
        }
    }
    return by_hand_digest(sorted, count);
}

static void prepare(size_t size) {
    count = size;
    input = by_hand_numbers(count);
    sorted = by_hand_numbers(count);
}

static void release(void) {
    free(input);
    free(sorted);
}

BY_HAND_MAIN(prepare, work, release)
