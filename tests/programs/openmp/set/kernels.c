// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Small numerical programs: each result is the same for any number of threads.

#include "set.h"

#include <math.h>
#include <omp.h>

enum { SIDE = 72 };

static void matrix_product(void) {
    static double a[SIDE][SIDE];
    static double b[SIDE][SIDE];
    static double c[SIDE][SIDE];
#pragma omp parallel for collapse(2)
    for (int i = 0; i < SIDE; i++) {
        for (int j = 0; j < SIDE; j++) {
            a[i][j] = (double)((i * 3 + j) % 11);
            b[i][j] = (double)((i + j * 5) % 7) - 3.0;
        }
    }
#pragma omp parallel for schedule(dynamic, 4)
    for (int i = 0; i < SIDE; i++) {
        for (int j = 0; j < SIDE; j++) {
            double sum = 0.0;
            for (int k = 0; k < SIDE; k++) {
                sum += a[i][k] * b[k][j];
            }
            c[i][j] = sum;
        }
    }
    double trace = 0.0;
    for (int i = 0; i < SIDE; i++) {
        trace += c[i][i] * (i % 5 + 1);
    }
    printf("  product: %.1f\n", trace);
}

static void merge_sort(int *items, int *scratch, int count) {
    if (count < 2) {
        return;
    }
    int half = count / 2;
#pragma omp task if (count > 256)
    merge_sort(items, scratch, half);
#pragma omp task if (count > 256)
    merge_sort(items + half, scratch + half, count - half);
#pragma omp taskwait
    int left = 0;
    int right = half;
    for (int i = 0; i < count; i++) {
        int take_left = right == count || (left < half && items[left] <= items[right]);
        scratch[i] = take_left ? items[left++] : items[right++];
    }
    memcpy(items, scratch, (size_t)count * sizeof *items);
}

static void sort(void) {
    enum { COUNT = 20000 };
    int *items = malloc(COUNT * sizeof *items);
    int *scratch = malloc(COUNT * sizeof *scratch);
    CHECK(items != NULL && scratch != NULL);
    unsigned state = 12345;
    for (int i = 0; i < COUNT; i++) {
        state = state * 1664525u + 1013904223u;
        items[i] = (int)(state >> 12);
    }
#pragma omp parallel
#pragma omp single
    merge_sort(items, scratch, COUNT);
    unsigned long check = 0;
    for (int i = 0; i < COUNT; i++) {
        CHECK(i == 0 || items[i - 1] <= items[i]);
        check = check * 31 + (unsigned long)items[i];
    }
    printf("  sorted: %016lx\n", check);
    free(items);
    free(scratch);
}

static void integral(void) {
    double sum = 0.0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 20000; i++) {
        double x = (i + 0.5) / 20000.0;
        sum += sqrt(1.0 - x * x);
    }
    printf("  integral: %.6f\n", 4.0 * sum / 20000.0);
}

// Memory from every thread's own arena, allocated by one thread and freed by another.
static void exchange_memory(void) {
    enum { SLOTS = 512 };
    static char *slots[SLOTS];
    for (int round = 0; round < 4; round++) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < SLOTS; i++) {
            size_t length = (size_t)(i * 37 % 3000 + 1);
            slots[i] = malloc(length);
            CHECK(slots[i] != NULL);
            memset(slots[i], i & 0xff, length);
        }
#pragma omp parallel for schedule(dynamic, 3)
        for (int i = SLOTS - 1; i >= 0; i--) {
            size_t length = (size_t)(i * 37 % 3000 + 1);
            CHECK_EQUAL((unsigned char)slots[i][length - 1], i & 0xff);
            free(slots[i]);
        }
    }
    printf("  memory exchanged\n");
}

void part_kernels(void) {
    matrix_product();
    sort();
    integral();
    exchange_memory();
}
