/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Spends its time in a function that a shared library calls, and that has been called by main all the same.
 */
#include <stdio.h>
#include <stdlib.h>

void library_sort(int *items, size_t count, int (*compare)(int, int));

enum { ITEMS = 64 };

static volatile unsigned sink;

__attribute__((noinline)) static int compare(int a, int b) {
    for (unsigned i = 0; i < 10000; i++)
        sink += i;
    return (a > b) - (a < b);
}

int main(int argc, char **argv) {
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
    for (unsigned long round = 0; round < rounds; round++) {
        int items[ITEMS];
        for (int i = 0; i < ITEMS; i++)
            items[i] = i * 37 % ITEMS;
        library_sort(items, ITEMS, compare);
    }
    puts("done");
    return 0;
}
