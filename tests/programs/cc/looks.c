// SPDX-License-Identifier: Apache-2.0 OR MIT
/* Looks whether something is typed, and does not wait for it. */
#include <poll.h>
#include <stdio.h>

int main(void) {
    struct pollfd keyboard = {0, POLLIN, 0};
    printf("typed: %d\n", poll(&keyboard, 1, 100));
    return 0;
}
