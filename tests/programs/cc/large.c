// SPDX-License-Identifier: Apache-2.0 OR MIT
// A gigabyte of zeros that the image does not hold.
#include <stdio.h>

static char zeros[1 << 30];

int main(void) {
    long sum = 0;
    for (unsigned long at = 0; at < sizeof zeros; at += 1 << 20) {
        sum += zeros[at];
        zeros[at] = 1;
        sum += zeros[at];
    }
    printf("touched %ld\n", sum);
    return 0;
}
