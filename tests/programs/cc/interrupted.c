// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Computes and reads no input until SIGINT has come; an argument asks for the end that the signal brings by
// itself.

#include <signal.h>
#include <stdio.h>

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number) { interrupted = number; }

int main(int argc, char **argv) {
    (void)argv;
    if (argc == 1) {
        signal(SIGINT, on_interrupt);
    }
    puts("running");
    fflush(stdout);
    while (!interrupted) {
    }
    printf("signal %d\n", (int)interrupted);
    return 5;
}
