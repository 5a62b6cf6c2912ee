// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The median by quickselect: each thread packs what is left of its part of the numbers.

#include "by_hand.h"

enum { THREADS_MOST = 512, SERIAL = 1 << 15 };

static int32_t *input, *buffers[2];
static size_t count;

struct part {
    size_t lesser, greater;
};

static struct part parts[THREADS_MOST];

static struct part count_part(const int32_t *from, size_t length, int32_t pivot) {
    struct part part = {0, 0};
    for (size_t i = 0; i < length; i++) {
        part.lesser += from[i] < pivot;
        part.greater += from[i] > pivot;
    }
    return part;
}

// Packs so many numbers. Without branches that depend on them: nothing is stored behind the last one.
static void pack(const int32_t *from, size_t kept, int32_t pivot, bool takes_lesser, int32_t *to) {
    for (size_t i = 0; kept > 0; i++) {
        bool keeps = takes_lesser ? from[i] < pivot : from[i] > pivot;
        *to = from[i];
        to += keeps;
        kept -= keeps;
    }
}

// What is left after a step: numbers on one side of the pivot, or none when that is the number that is looked
// for.
struct rest {
    bool is_lesser;
    size_t length;
};

static struct rest rest_of(struct part all, size_t length, size_t *rank) {
    if (*rank < all.lesser) {
        return (struct rest){true, all.lesser};
    }
    if (*rank < length - all.greater) {
        return (struct rest){false, 0};
    }
    *rank -= length - all.greater;
    return (struct rest){false, all.greater};
}

static size_t kept(struct part part, struct rest rest) { return rest.is_lesser ? part.lesser : part.greater; }

static struct rest step_serially(const int32_t *from, size_t length, size_t *rank, int32_t *to) {
    int32_t pivot = from[length / 2];
    struct part part = count_part(from, length, pivot);
    struct rest rest = rest_of(part, length, rank);
    pack(from, rest.length, pivot, rest.is_lesser, to);
    return rest;
}

static struct rest step_together(const int32_t *from, size_t length, size_t *rank, int32_t *to) {
    int32_t pivot = from[length / 2];
    struct rest rest = {false, 0};
#pragma omp parallel
    {
        size_t threads = (size_t)omp_get_num_threads(), own = (size_t)omp_get_thread_num();
        size_t begin = length * own / threads, end = length * (own + 1) / threads;
        parts[own] = count_part(from + begin, end - begin, pivot);
#pragma omp barrier
#pragma omp single
        {
            struct part all = {0, 0};
            for (size_t i = 0; i < threads; i++) {
                all.lesser += parts[i].lesser;
                all.greater += parts[i].greater;
            }
            rest = rest_of(all, length, rank);
        }
        size_t place = 0;
        for (size_t i = 0; i < own; i++) {
            place += kept(parts[i], rest);
        }
        if (rest.length > 0) {
            pack(from + begin, kept(parts[own], rest), pivot, rest.is_lesser, to + place);
        }
    }
    return rest;
}

static int32_t work(void) {
    const int32_t *from = input;
    size_t length = count, rank = count / 2;
    for (unsigned i = 0;; i++) {
        int32_t pivot = from[length / 2], *to = buffers[i % 2];
        struct rest rest =
            length > SERIAL ? step_together(from, length, &rank, to) : step_serially(from, length, &rank, to);
        if (rest.length == 0) {
            return pivot;
        }
        from = to;
        length = rest.length;
    }
}

static void prepare(size_t size) {
    count = size;
    input = by_hand_numbers(count);
    buffers[0] = by_hand_numbers(count);
    buffers[1] = by_hand_numbers(count);
}

static void release(void) {
    free(input);
    free(buffers[0]);
    free(buffers[1]);
}

BY_HAND_MAIN(prepare, work, release)
