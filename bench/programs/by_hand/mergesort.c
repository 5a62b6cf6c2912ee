// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Mergesort by tasks; long merges are divided, too: the middle of one half parts the other.

#include "by_hand.h"

enum { SERIAL = 4096 };

static int32_t *input, *sorted, *scratch;
static size_t count;

struct run {
    const int32_t *numbers;
    size_t length;
};

static void merge_serially(struct run a, struct run b, int32_t *out) {
    size_t left = 0, right = 0;
    while (left < a.length && right < b.length) {
        *out++ = b.numbers[right] < a.numbers[left] ? b.numbers[right++] : a.numbers[left++];
    }
    memcpy(out, a.numbers + left, (a.length - left) * sizeof *out);
    memcpy(out + (a.length - left), b.numbers + right, (b.length - right) * sizeof *out);
}

// How many numbers of a run are less.
static size_t place(struct run run, int32_t number) {
    size_t low = 0, high = run.length;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (run.numbers[middle] < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static struct run take(struct run run, size_t length) { return (struct run){run.numbers, length}; }

static struct run drop(struct run run, size_t length) {
    return (struct run){run.numbers + length, run.length - length};
}

static void merge(struct run a, struct run b, int32_t *out) {
    if (a.length + b.length <= SERIAL) {
        merge_serially(a, b, out);
        return;
    }
    if (a.length < b.length) {
        struct run shorter = a;
        a = b;
        b = shorter;
    }
    size_t half = a.length / 2, other = place(b, a.numbers[half]);
#pragma omp task
    merge(take(a, half), take(b, other), out);
    merge(drop(a, half), drop(b, other), out + half + other);
#pragma omp taskwait
}

// Sorts `from` into `to`, or, if not, in place; the other one is scratch memory.
static void sort(int32_t *from, int32_t *to, size_t length, bool is_into) {
    if (length < 2) {
        if (is_into && length == 1) {
            to[0] = from[0];
        }
        return;
    }
    size_t middle = (length + 1) / 2;
#pragma omp task if (length > SERIAL)
    sort(from, to, middle, !is_into);
    sort(from + middle, to + middle, length - middle, !is_into);
#pragma omp taskwait
    const int32_t *halves = is_into ? from : to;
    merge((struct run){halves, middle}, (struct run){halves + middle, length - middle}, is_into ? to : from);
}

static int32_t work(void) {
#pragma omp parallel if (count > SERIAL)
    {
#pragma omp for
        for (size_t i = 0; i < count; i++) {
            scratch[i] = input[i];
        }
#pragma omp single
        sort(scratch, sorted, count, true);
    }
    return by_hand_digest(sorted, count);
}

static void prepare(size_t size) {
    count = size;
    input = by_hand_numbers(count);
    sorted = by_hand_numbers(count);
    scratch = by_hand_numbers(count);
}

static void release(void) {
    free(input);
    free(sorted);
    free(scratch);
}

BY_HAND_MAIN(prepare, work, release)
