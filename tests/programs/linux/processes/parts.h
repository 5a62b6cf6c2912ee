// SPDX-License-Identifier: Apache-2.0 OR MIT
// The parts of the set of processes: making, sharing, waiting for, stopping with signals and reaping them.
// Linux says what is right.
#ifndef HADAL_TEST_PROCESSES_PARTS_H
#define HADAL_TEST_PROCESSES_PARTS_H

// Before any header.
#define _GNU_SOURCE
#include "../../common/check.h"

#include <sys/wait.h>

enum { PAGE = 4096, SEQUENCE = 200, AT_ONCE = 60 };

static inline int status_of(pid_t pid) {
    int status;
    CHECK_EQUAL(waitpid(pid, &status, 0), pid);
    return status;
}

static inline int exit_of(pid_t pid) {
    int status = status_of(pid);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

void basics(void);
void waiting(void);
void many(void);
void programs(void);
void texts(void);
void replacing(void);
void guests(void);
void hosts(void);
void signals(void);
void files_of_signals(void);
void groups(void);
void stopping(void);
void descriptors(void);
void chains(void);
void memory(void);
void advice(void);
void reapers(void);
void threads(void);
void pipes(void);
void locks(void);
void records(void);
void others(void);
void usage(void);
void leaks(void);

#endif
