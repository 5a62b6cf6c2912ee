// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What the parts share.
#define _GNU_SOURCE
#include "sysv.h"

#include <time.h>

key_t key;

pid_t in_child(void (*run)(void), uid_t uid) {
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (uid != 0) {
            CHECK_EQUAL(setgid(uid), 0);
            CHECK_EQUAL(setuid(uid), 0);
        }
        run();
        _exit(0);
    }
    return child;
}

void expect_end(pid_t child) {
    int status = -1;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
}

void pause_a_moment(void) {
    struct timespec time = {0, 5000000};
    nanosleep(&time, NULL);
}

void until_asleep(pid_t process) {
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    for (;;) {
        FILE *file = fopen(path, "r");
        CHECK(file != NULL);
        CHECK(fgets(line, sizeof line, file) != NULL);
        fclose(file);
        if (strstr(line, ") S") != NULL) {
            return;
        }
        pause_a_moment();
    }
}

volatile sig_atomic_t caught;

static void on_signal(int number) {
    (void)number;
    caught++;
}

void catch_signal(int number, int flags) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
    CHECK_EQUAL(sigaction(number, &action, NULL), 0);
    caught = 0;
}
