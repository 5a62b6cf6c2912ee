// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Ends by the signal of the given number, or exits with the given status.
//
//   die signal NUMBER | die exit STATUS | die return STATUS | die thread STATUS

#include "../common/check.h"

#include <pthread.h>
#include <signal.h>

static void *exit_from_thread(void *argument) { exit((int)(long)argument); }

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "return";
    int number = argc > 2 ? atoi(argv[2]) : 0;
    printf("ends by %s %d\n", how, number);
    if (strcmp(how, "signal") == 0) {
        fflush(stdout);
        CHECK_EQUAL(kill(getpid(), number), 0);
        usleep(100000);
        return 98;
    }
    if (strcmp(how, "exit") == 0) {
        exit(number);
    }
    if (strcmp(how, "thread") == 0) {
        pthread_t thread;
        CHECK_EQUAL(pthread_create(&thread, NULL, exit_from_thread, (void *)(long)number), 0);
        pthread_join(thread, NULL);
    }
    return number;
}
