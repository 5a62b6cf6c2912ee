// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// As many processes as a build or a service makes in days: one after the other, and at a time. Linux says
// what is right; on Hadal, where nobody else takes memory, there is as much of it afterwards as before.

#define _GNU_SOURCE
#include "../common/check.h"

#include <signal.h>
#include <sys/wait.h>

enum { SEQUENCE = 20000, LONG_SEQUENCE = 100000, WARM_UP = 5000, AT_ONCE = 1000, LOST_KIB = 1024 };

static long free_kib(void) {
    FILE *file = fopen("/proc/meminfo", "r");
    CHECK(file != NULL);
    char line[200];
    long kib = -1;
    while (kib < 0 && fgets(line, sizeof line, file) != NULL) {
        sscanf(line, "MemFree: %ld", &kib);
    }
    fclose(file);
    return kib;
}

static int is_alone(void) {
    char name[20] = "";
    FILE *file = fopen("/proc/1/comm", "r");
    int is = file != NULL && fgets(name, sizeof name, file) != NULL && strcmp(name, "hadal\n") == 0;
    if (file != NULL) {
        fclose(file);
    }
    return is;
}

static void check_memory(long before) {
    long lost = before - free_kib();
    if (is_alone() && lost > LOST_KIB) {
        fprintf(stderr, "%ld KiB are lost\n", lost);
        _exit(99);
    }
}

static void briefly(int index) {
    pid_t child = fork();
    if (child == 0) {
        _exit(index & 0x7f);
    }
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == (index & 0x7f));
}

static void so_many_in_sequence(int count) {
    for (int index = 0; index < WARM_UP; ++index) {
        briefly(index);
    }
    long before = free_kib();
    for (int index = 0; index < count; ++index) {
        briefly(index);
    }
    check_memory(before);
}

static void in_sequence(void) { so_many_in_sequence(SEQUENCE); }

static void in_long_sequence(void) { so_many_in_sequence(LONG_SEQUENCE); }

// All live and wait; every other one is killed, the rest end by themselves.
static void live_together(void) {
    static pid_t ids[AT_ONCE];
    int ends[2], status, ended = 0, killed = 0;
    CHECK(pipe(ends) == 0);
    for (int index = 0; index < AT_ONCE; ++index) {
        ids[index] = fork();
        if (ids[index] == 0) {
            char byte;
            close(ends[1]);
            CHECK_EQUAL(read(ends[0], &byte, 1), 0);
            _exit(7);
        }
        CHECK(ids[index] > 0);
    }
    for (int index = 0; index < AT_ONCE; index += 2) {
        CHECK(kill(ids[index], SIGKILL) == 0);
    }
    close(ends[0]);
    close(ends[1]);
    while (wait(&status) > 0) {
        ended += WIFEXITED(status) && WEXITSTATUS(status) == 7;
        killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    }
    CHECK_EQUAL(ended, AT_ONCE / 2);
    CHECK_EQUAL(killed, AT_ONCE / 2);
}

static void at_once(void) {
    live_together();
    long before = free_kib();
    live_together();
    check_memory(before);
}

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"in-sequence", in_sequence}, {"in-long-sequence", in_long_sequence}, {"at-once", at_once}};
    return run_parts(parts, sizeof parts / sizeof *parts, argc, argv);
}
