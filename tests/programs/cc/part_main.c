// SPDX-License-Identifier: Apache-2.0 OR MIT
// The first of two objects.
#include <stdio.h>

int part_value(int of);

int main(void) {
    printf("parts %d\n", part_value(20));
    return 0;
}
