// SPDX-License-Identifier: Apache-2.0 OR MIT
// A fault whose report must name functions of the image's program.
#include <stddef.h>

__attribute__((noinline)) static void wrong_store(volatile int *at) { *at = 1; }

__attribute__((noinline)) static void caller_of_it(volatile int *at) {
    wrong_store(at);
    *at = 2;
}

int main(void) {
    caller_of_it(NULL);
    return 0;
}
