// SPDX-License-Identifier: Apache-2.0 OR MIT
// Uses up what the kernel keeps for a program, kind by kind, and goes on. "--leave=MIB" touches memory first
// until so much is free; "--tolerant" takes any error for an answer, for a kernel whose allocations fail at
// random.
#define _GNU_SOURCE
#include "exhaust.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

static bool tolerant;

static const struct kind KINDS[] = {
    {"pipes", use_up_pipes},
    {"sockets", use_up_sockets},
    {"memfds", use_up_memfds},
    {"eventfds", use_up_eventfds},
    {"poll", use_up_poll},
    {"files", use_up_files},
    {"directories", use_up_directories},
    {"fifos", use_up_fifos},
    {"small-writes", use_up_small_writes},
    {"threads", use_up_threads},
    {"processes", use_up_processes},
    {"readers", use_up_readers},
    {"futexes", use_up_futexes},
    {"stacks", use_up_stacks},
    {"mappings", use_up_mappings},
    {"holes", use_up_holes},
    {"timers", use_up_timers},
    {"signals", use_up_signals},
    {"segments", use_up_segments},
    {"semaphores", use_up_semaphores},
    {"messages", use_up_messages},
    // The table of descriptors never shrinks.
    {"dup2", use_up_dup2},
    {"dup", use_up_dup},
};

size_t scale = 1;

void expect_refusal(const char *what, const int *allowed) {
    const int found = errno;
    for (; *allowed != 0 && *allowed != found; allowed++) {
    }
    if (*allowed == 0 && !tolerant) {
        printf("%s: refused with %s\n", what, strerrorname_np(found));
        exit(1);
    }
}

// Touches memory until about `leave` bytes are free. What it has taken stays.
static void fill(size_t leave) {
    const size_t step = 256 << 10;
    struct sysinfo info;
    while (sysinfo(&info) == 0 && info.freeram * info.mem_unit > leave + step) {
        char *block = mmap(NULL, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block == MAP_FAILED) {
            break;
        }
        memset(block, 1, step);
    }
}

static void run(const struct kind *kind) {
    const size_t count = kind->use_up();
    fprintf(stderr, "%s: %zu\n", kind->name, count);
    if (count == 0 && !tolerant) {
        printf("%s: nothing at all\n", kind->name);
        exit(1);
    }
    printf("%s\n", kind->name);
    fflush(stdout);
}

int main(int argc, char **argv) {
    int first = 1;
    for (; first < argc && argv[first][0] == '-'; first++) {
        if (strncmp(argv[first], "--leave=", 8) == 0) {
            fill(strtoul(argv[first] + 8, NULL, 10) << 20);
        }
        tolerant |= strcmp(argv[first], "--tolerant") == 0;
        if (strcmp(argv[first], "--long") == 0) {
            scale = 4;
        }
    }
    const size_t count = sizeof KINDS / sizeof *KINDS;
    for (size_t index = 0; index < count; index++) {
        bool wanted = first == argc;
        for (int word = first; word < argc; word++) {
            wanted |= strcmp(argv[word], KINDS[index].name) == 0;
        }
        if (wanted) {
            run(&KINDS[index]);
        }
    }
    puts("went on");
    return 0;
}
