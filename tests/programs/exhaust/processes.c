// SPDX-License-Identifier: Apache-2.0 OR MIT
// Processes until there are no more, each with memory of its own.
#define _GNU_SOURCE
#include "exhaust.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 4000
#define BYTES (16 << 10)

static const int REFUSALS[] = {EAGAIN, ENOMEM, 0};

size_t use_up_processes(void) {
    int gate[2];
    size_t count = 0;
    volatile char *own = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own == MAP_FAILED || pipe(gate) != 0) {
        return 0;
    }
    own[0] = 1;
    while (count < MOST) {
        const pid_t pid = fork();
        if (pid == 0) {
            char byte;
            close(gate[1]);
            // A copy: who gets no memory for it is ended, as on Linux.
            own[0] = 2;
            _exit(read(gate[0], &byte, 1) == 0 ? 0 : 1);
        }
        if (pid < 0) {
            expect_refusal("fork", REFUSALS);
            break;
        }
        count++;
    }
    close(gate[0]), close(gate[1]);
    while (wait(NULL) > 0) {
    }
    munmap((void *)own, BYTES);
    return count;
}
