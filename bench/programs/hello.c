// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The shortest program with an output, for figures about starting and ending.

#include <stdio.h>

int main(void) {
    puts("hello");
    return 0;
}
