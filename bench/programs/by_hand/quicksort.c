// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Quicksort in place by tasks, of a copy of the input.

#include "by_hand.h"

enum { SERIAL = 4096, INSERTION = 24 };

static int32_t *input, *sorted;
static size_t count;

static void sort_by_insertion(int32_t *all, size_t length) {
    for (size_t i = 1; i < length; i++) {
        int32_t number = all[i];
        size_t to = i;
        for (; to > 0 && all[to - 1] > number; to--) {
            all[to] = all[to - 1];
        }
        all[to] = number;
    }
}

static void swap(int32_t *all, size_t one, size_t other) {
    int32_t number = all[one];
    all[one] = all[other];
    all[other] = number;
}

static int32_t middle_of(int32_t a, int32_t b, int32_t c) {
    int32_t least = a < b ? a : b, most = a < b ? b : a;
    return c < least ? least : c > most ? most : c;
}

// Hoare's partition: nothing before the result is greater than what is behind.
static size_t partition(int32_t *all, size_t length) {
    int32_t pivot = middle_of(all[0], all[length / 2], all[length - 1]);
    size_t low = 0, high = length - 1;
    for (;;) {
        while (all[low] < pivot) {
            low++;
        }
        while (all[high] > pivot) {
            high--;
        }
        if (low >= high) {
            return high + 1;
        }
        swap(all, low++, high--);
    }
}

static void sort(int32_t *all, size_t length) {
    while (length > INSERTION) {
        size_t parts = partition(all, length);
        if (parts == length) {
            parts--;
        }
        if (length > SERIAL) {
#pragma omp task
            sort(all, parts);
        } else {
            sort(all, parts);
        }
        all += parts;
        length -= parts;
    }
    sort_by_insertion(all, length);
}

static int32_t work(void) {
#pragma omp parallel if (count > SERIAL)
    {
#pragma omp for
        for (size_t i = 0; i < count; i++) {
            sorted[i] = input[i];
        }
#pragma omp single
        sort(sorted, count);
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
