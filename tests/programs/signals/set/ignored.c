// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Signals that are ignored: kept while they are blocked, gone when they are not, and counted by the timers
// that send them.

#define _GNU_SOURCE
#include "set.h"

#include <time.h>

static void sleep_ms(long ms) {
    struct timespec left = {0, ms * 1000000};
    while (nanosleep(&left, &left) != 0) {
    }
}

static volatile sig_atomic_t most_overruns;

static void note_overruns(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    if (info->si_overrun > most_overruns)
        most_overruns = info->si_overrun;
}

/* Blocks a signal, has a timer send it many times, and unblocks it. */
static void overruns(int number, int has_handler) {
    sigset_t blocked = set_of(number, number), pending;
    CHECK_EQUAL(sigprocmask(SIG_BLOCK, &blocked, NULL), 0);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
    timer_t timer;
    CHECK_EQUAL(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    struct itimerspec often = {.it_value = {0, 1000000}, .it_interval = {0, 1000000}};
    CHECK_EQUAL(timer_settime(timer, 0, &often, NULL), 0);
    sleep_ms(50);
    sigpending(&pending);
    CHECK_EQUAL(sigismember(&pending, number), 1);
    CHECK_EQUAL(sigprocmask(SIG_UNBLOCK, &blocked, NULL), 0);
    /* A handler may have run again since. */
    CHECK((has_handler ? most_overruns : timer_getoverrun(timer)) >= 20);
    CHECK_EQUAL(timer_delete(timer), 0);
    sigpending(&pending);
    CHECK_EQUAL(sigismember(&pending, number), 0);
}

void part_ignored(void) {
    sigset_t blocked = set_of(SIGURG, SIGUSR1), old;
    handle(SIGURG, SIG_DFL, 0);
    handle(SIGUSR1, SIG_IGN, 0);
    CHECK_EQUAL(sigprocmask(SIG_BLOCK, &blocked, &old), 0);
    CHECK_EQUAL(kill(getpid(), SIGURG), 0);
    CHECK_EQUAL(raise(SIGUSR1), 0);
    CHECK_EQUAL(sigprocmask(SIG_SETMASK, &old, NULL), 0);
    counts[SIGURG] = counts[SIGUSR1] = 0;
    handle(SIGURG, count, 0);
    handle(SIGUSR1, count, 0);
    CHECK_EQUAL(counts[SIGURG] + counts[SIGUSR1], 0);
    handle(SIGURG, SIG_DFL, 0);
    overruns(SIGCONT, 0);
    overruns(SIGURG, 0);
    struct sigaction action = {.sa_sigaction = note_overruns, .sa_flags = SA_SIGINFO};
    CHECK_EQUAL(sigaction(SIGUSR1, &action, NULL), 0);
    overruns(SIGUSR1, 1);
    printf("ignored signals ok\n");
}
