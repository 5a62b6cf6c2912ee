// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The least program: a line, and a status from the command line.

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    printf("hello\n");
    return argc > 1 ? atoi(argv[1]) : 0;
}
