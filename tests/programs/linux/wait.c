// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Waits for signals: says that it waits, and then which signal came. Ends with status 3 after SIGINT or
// SIGTERM.

#include "../common/check.h"

#include <signal.h>

static volatile sig_atomic_t came;

static void note(int number) { came = number; }

int main(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = note;
    CHECK_EQUAL(sigaction(SIGINT, &action, NULL), 0);
    CHECK_EQUAL(sigaction(SIGTERM, &action, NULL), 0);
    printf("waiting\n");
    fflush(stdout);
    while (came == 0) {
        usleep(10000);
    }
    printf("signal %d\n", came);
    return 3;
}
