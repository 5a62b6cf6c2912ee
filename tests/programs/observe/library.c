/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A shared library that calls its caller back, through the C library. */
#include <stdlib.h>

typedef int compare_numbers(int, int);

void library_sort(int *items, size_t count, compare_numbers *compare);

static compare_numbers *callback;

__attribute__((noinline)) static int library_compare(const void *left, const void *right) {
    int order = callback(*(const int *)left, *(const int *)right);
    /* Keeps the call from becoming a jump. */
    __asm__ volatile("");
    return order;
}

void library_sort(int *items, size_t count, compare_numbers *compare) {
    callback = compare;
    qsort(items, count, sizeof items[0], library_compare);
    __asm__ volatile("");
}
