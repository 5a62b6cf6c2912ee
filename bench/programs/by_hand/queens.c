// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Placements of queens, with one bit for each column or diagonal that is attacked; the first rows by tasks.

#include "by_hand.h"

enum { TASK_ROWS = 2, SERIAL = 7 };

static unsigned queens;

static uint32_t place(unsigned row, uint32_t columns, uint32_t left, uint32_t right) {
    if (row == queens) {
        return 1;
    }
    uint32_t sum = 0;
    for (uint32_t open = ~(columns | left | right) & ((1u << queens) - 1); open != 0; open &= open - 1) {
        uint32_t bit = open & -open;
        sum += place(row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    return sum;
}

static void place_by_tasks(unsigned row, uint32_t columns, uint32_t left, uint32_t right, uint32_t *all) {
    if (row == queens || row == TASK_ROWS) {
        uint32_t sum = place(row, columns, left, right);
#pragma omp atomic
        *all += sum;
        return;
    }
    for (uint32_t open = ~(columns | left | right) & ((1u << queens) - 1); open != 0; open &= open - 1) {
        uint32_t bit = open & -open;
#pragma omp task
        place_by_tasks(row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1, all);
    }
}

static int32_t work(void) {
    uint32_t sum = 0;
#pragma omp parallel if (queens > SERIAL)
#pragma omp single
    place_by_tasks(0, 0, 0, 0, &sum);
    return (int32_t)sum;
}

static void prepare(size_t size) { queens = (unsigned)size; }

static void release(void) {}

BY_HAND_MAIN(prepare, work, release)
