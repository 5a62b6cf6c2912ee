// SPDX-License-Identifier: Apache-2.0 OR MIT
// Mappings, timers and queued signals until there are no more.
#define _GNU_SOURCE
#include "exhaust.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define MOST 200000

static const int REFUSALS[] = {EAGAIN, ENOMEM, 0};

// Neighbours differ, so that they stay apart: so many pages of `room` that can be read, each before one that
// cannot.
static size_t cut(char *room) {
    size_t count = 0;
    while (count < MOST / 2 && mprotect(room + count * 8192, 4096, PROT_READ) == 0) {
        count++;
    }
    if (count < MOST / 2) {
        expect_refusal("mprotect", REFUSALS);
    }
    return count;
}

// All mappings are unmapped by one call.
size_t use_up_mappings(void) {
    const size_t len = (size_t)MOST * 4096;
    char *room = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) {
        expect_refusal("mmap", REFUSALS);
        return 0;
    }
    const size_t count = cut(room);
    if (munmap(room, len) != 0) {
        expect_refusal("munmap", REFUSALS);
    }
    return count;
}

// Every other mapping is unmapped by a call of its own, which needs no memory: upwards, downwards, and in no
// order.
size_t use_up_holes(void) {
    const size_t len = (size_t)MOST * 4096;
    size_t total = 0;
    for (int order = 0; order < 3; order++) {
        char *room = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (room == MAP_FAILED) {
            expect_refusal("mmap", REFUSALS);
            return total;
        }
        const size_t count = cut(room);
        for (size_t step = 0; step < count; step++) {
            // The first is a prime number, so that all are met.
            const size_t scattered = step * 999983 % count;
            const size_t index = order == 0 ? step : order == 1 ? count - 1 - step : scattered;
            if (munmap(room + index * 8192, 4096) != 0) {
                expect_refusal("munmap", (const int[]){0});
            }
        }
        // Those that are left may take all there is.
        char *again = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (again == MAP_FAILED) {
            expect_refusal("mmap into a hole", REFUSALS);
        } else {
            *again = 1;
            munmap(again, 4096);
        }
        munmap(room, len);
        total += count;
    }
    return total;
}

size_t use_up_timers(void) {
    static timer_t timers[MOST];
    size_t count = 0;
    struct sigevent nothing = {.sigev_notify = SIGEV_NONE};
    while (count < MOST && timer_create(CLOCK_MONOTONIC, &nothing, &timers[count]) == 0) {
        count++;
    }
    if (count < MOST) {
        expect_refusal("timer_create", REFUSALS);
    }
    for (size_t number = 0; number < count; number++) {
        timer_delete(timers[number]);
    }
    return count;
}

size_t use_up_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    size_t count = 0;
    while (count < MOST && sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = (int)count}) == 0) {
        count++;
    }
    if (count < MOST) {
        expect_refusal("sigqueue", REFUSALS);
    }
    const struct timespec now = {0, 0};
    siginfo_t info;
    while (sigtimedwait(&set, &info, &now) == SIGRTMIN) {
    }
    return count;
}
