// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What a team does that has more members than the host has cores: recursive tasks, ordered loops, values
// handed to all members. Each part's name is an argument; `times` in front of them writes how long each took
// to standard error.

#include "../common/check.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { FIB_OF = 22, SORTED = 200000, SORT_ALONE = 2000, ORDERED_TURNS = 2000, HAND_OUTS = 500 };

static long fib_of(int n) {
    if (n < 2)
        return n;
    long left, right;
#pragma omp task shared(left) if (n > 12)
    left = fib_of(n - 1);
    right = fib_of(n - 2);
#pragma omp taskwait
    return left + right;
}

static void fib(void) {
    long result = 0;
#pragma omp parallel
#pragma omp single
    result = fib_of(FIB_OF);
    printf("fib(%d) = %ld\n", FIB_OF, result);
}

static int by_value(const void *left, const void *right) {
    unsigned a = *(const unsigned *)left, b = *(const unsigned *)right;
    return (a > b) - (a < b);
}

static void sort_piece(unsigned *values, unsigned *room, int count) {
    if (count <= SORT_ALONE) {
        qsort(values, (size_t)count, sizeof(*values), by_value);
        return;
    }
    int half = count / 2;
#pragma omp task
    sort_piece(values, room, half);
    sort_piece(values + half, room + half, count - half);
#pragma omp taskwait
    int left = 0, right = half;
    for (int at = 0; at < count; at++) {
        int take_left = right == count || (left < half && values[left] <= values[right]);
        room[at] = take_left ? values[left++] : values[right++];
    }
    memcpy(values, room, (size_t)count * sizeof(*values));
}

static void sort(void) {
    unsigned *values = malloc(SORTED * sizeof(*values)), *room = malloc(SORTED * sizeof(*room));
    CHECK(values != NULL && room != NULL);
    unsigned state = 1;
    for (int at = 0; at < SORTED; at++)
        values[at] = state = state * 1664525 + 1013904223;
#pragma omp parallel
#pragma omp single
    sort_piece(values, room, SORTED);
    for (int at = 1; at < SORTED; at++)
        CHECK(values[at - 1] <= values[at]);
    printf("sorted, from %u to %u\n", values[0], values[SORTED - 1]);
    free(values);
    free(room);
}

static void ordered(void) {
    int expected = 0;
#pragma omp parallel for ordered schedule(static, 1)
    for (int turn = 0; turn < ORDERED_TURNS; turn++) {
#pragma omp ordered
        CHECK(expected++ == turn);
    }
    printf("%d turns in order\n", expected);
}

static void copyprivate(void) {
    long sum = 0;
    int members = 0;
#pragma omp parallel reduction(+ : sum, members)
    {
        int value;
        for (int round = 0; round < HAND_OUTS; round++) {
#pragma omp single copyprivate(value)
            value = round;
            sum += value;
        }
        members++;
    }
    printf("each member got %ld\n", sum / members);
    CHECK(sum % members == 0);
}

static const struct {
    const char *name;
    void (*run)(void);
} parts[] = {{"fib", fib}, {"sort", sort}, {"ordered", ordered}, {"copyprivate", copyprivate}};

int main(int argc, char **argv) {
    int times = argc > 1 && strcmp(argv[1], "times") == 0;
    for (int at = 1 + times; at < argc; at++) {
        size_t part = 0;
        while (part < sizeof(parts) / sizeof(*parts) && strcmp(parts[part].name, argv[at]) != 0)
            part++;
        CHECK(part < sizeof(parts) / sizeof(*parts));
        double start_s = omp_get_wtime();
        parts[part].run();
        if (times)
            fprintf(stderr, "%s: %.3f s\n", argv[at], omp_get_wtime() - start_s);
    }
    return 0;
}
