// SPDX-License-Identifier: Apache-2.0 OR MIT
/* Asks for a line and says what it was. */
#include <stdio.h>

int main(void) {
    char line[100];
    printf("a line, please\n");
    fflush(stdout);
    if (fgets(line, sizeof line, stdin) == NULL) {
        return 1;
    }
    printf("read: %s", line);
    return 0;
}
