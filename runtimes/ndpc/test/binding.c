// SPDX-License-Identifier: Apache-2.0 OR MIT
// Calls translated functions from C, also from several threads. Prints "binding ok".
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                           \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

#define NUMBERS 20000

static void *sort(void *seed) {
    int *numbers = malloc(NUMBERS * sizeof *numbers);
    unsigned random = (unsigned)(uintptr_t)seed;
    for (int i = 0; i < NUMBERS; i++) {
        random = random * 1103515245u + 12345u;
        numbers[i] = (int)(random >> 8);
    }
    ndpc_ints sorted;
    CHECK(ndpc_quicksort(&sorted, (ndpc_ints){numbers, NUMBERS}) == 0);
    CHECK(sorted.count == NUMBERS);
    for (int i = 1; i < NUMBERS; i++) {
        CHECK(sorted.items[i - 1] <= sorted.items[i]);
    }
    ndpc_free(sorted.items);
    free(numbers);
    return NULL;
}

int main(void) {
    CHECK(ndpc_init(4, false) == 0);
    double a[3] = {1, 2, 3}, b[3] = {4, 5, 6}, product = 0;
    CHECK(ndpc_dot(&product, (ndpc_floats){a, 3}, (ndpc_floats){b, 3}) == 0 && product == 32);
    CHECK(strcmp(ndpc_failure_text(), "") == 0);
    CHECK(ndpc_dot(&product, (ndpc_floats){a, 3}, (ndpc_floats){b, 2}) != 0);
    CHECK(strstr(ndpc_failure_text(),
                 "Length mismatch in an apply-to-each. The lengths are 3 and 2.\n  in dot, measure.ndpc:2:"));
    ndpc_ints none;
    CHECK(ndpc_quicksort(&none, (ndpc_ints){NULL, 0}) == 0 && none.count == 0);
    ndpc_free(none.items);

    ndpc_thread_t threads[3];
    for (uintptr_t i = 0; i < 3; i++) {
        CHECK(ndpc_thread_create(&threads[i], sort, (void *)(i + 1), HRT_CPU_ANY, 1 << 20) == 0);
    }
    sort((void *)7);
    CHECK(ndpc_thread_join_children() == 0);
    ndpc_shutdown();
    puts("binding ok");
    return 0;
}
