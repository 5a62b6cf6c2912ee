// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Sending, masking and nesting: when a handler runs, and when not.

#define _GNU_SOURCE
#include "set.h"

#include <sys/syscall.h>

volatile sig_atomic_t counts[65];
volatile sig_atomic_t handled_in_all;

void count(int number) {
    counts[number] = counts[number] + 1;
    handled_in_all = handled_in_all + 1;
}

void handle(int number, void (*handler)(int), int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    CHECK_EQUAL(sigaction(number, &action, NULL), 0);
}

sigset_t set_of(int first, int second) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, first);
    sigaddset(&set, second);
    return set;
}

void part_kill(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGHUP, SIGQUIT, SIGCHLD};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        handle(numbers[i], count, 0);
        counts[numbers[i]] = 0;
        CHECK_EQUAL(kill(getpid(), numbers[i]), 0);
        CHECK_EQUAL(counts[numbers[i]], 1);
        CHECK_EQUAL(raise(numbers[i]), 0);
        CHECK_EQUAL(counts[numbers[i]], 2);
        CHECK_EQUAL(syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), numbers[i]), 0);
        CHECK_EQUAL(counts[numbers[i]], 3);
    }
    handle(SIGUSR1, SIG_IGN, 0);
    CHECK_EQUAL(raise(SIGUSR1), 0);
    CHECK_EQUAL(counts[SIGUSR1], 3);
    CHECK_EQUAL(kill(getpid(), 0), 0);
    CHECK_ERRNO(kill(getpid(), 65), EINVAL);
    CHECK_ERRNO(syscall(SYS_tgkill, getpid(), 999999, SIGUSR1), ESRCH);
    CHECK_ERRNO(sigaction(SIGKILL, &(struct sigaction){.sa_handler = count}, NULL), EINVAL);
    CHECK_ERRNO(sigaction(0, NULL, NULL), EINVAL);
}

void part_masks(void) {
    sigset_t blocked = set_of(SIGUSR1, SIGUSR2);
    sigset_t old;
    sigset_t pending;
    handle(SIGUSR1, count, 0);
    handle(SIGUSR2, count, 0);
    counts[SIGUSR1] = 0;
    CHECK_EQUAL(sigprocmask(SIG_BLOCK, &blocked, &old), 0);
    CHECK(!sigismember(&old, SIGUSR1));
    CHECK_EQUAL(raise(SIGUSR1), 0);
    CHECK_EQUAL(raise(SIGUSR1), 0);
    CHECK_EQUAL(counts[SIGUSR1], 0);
    CHECK_EQUAL(sigpending(&pending), 0);
    CHECK(sigismember(&pending, SIGUSR1) && !sigismember(&pending, SIGUSR2));
    CHECK_EQUAL(sigprocmask(SIG_SETMASK, &old, NULL), 0);
    // Standard signals do not queue.
    CHECK_EQUAL(counts[SIGUSR1], 1);
    CHECK_ERRNO(sigprocmask(77, &blocked, NULL), EINVAL);

    // A pending signal is forgotten when it becomes ignored.
    CHECK_EQUAL(sigprocmask(SIG_BLOCK, &blocked, NULL), 0);
    CHECK_EQUAL(raise(SIGUSR1), 0);
    handle(SIGUSR1, SIG_IGN, 0);
    handle(SIGUSR1, count, 0);
    CHECK_EQUAL(sigprocmask(SIG_SETMASK, &old, NULL), 0);
    CHECK_EQUAL(counts[SIGUSR1], 1);
}

static volatile sig_atomic_t depth_now;
static volatile sig_atomic_t depth_most;

static void nest(int number) {
    depth_now = depth_now + 1;
    if (depth_now > depth_most) {
        depth_most = depth_now;
    }
    if (number == SIGUSR1) {
        CHECK_EQUAL(raise(SIGUSR2), 0);
        // The signal being handled is blocked until its handler returns.
        CHECK_EQUAL(raise(SIGUSR1), 0);
    }
    counts[number] = counts[number] + 1;
    depth_now = depth_now - 1;
}

static void nest_once(int number) {
    if (counts[number] == 0) {
        nest(number);
    } else {
        counts[number] = counts[number] + 1;
    }
}

static void reenter(int number) {
    counts[number] = counts[number] + 1;
    if (counts[number] < 5) {
        CHECK_EQUAL(raise(number), 0);
    }
}

// Runs with SIGUSR2 held back by its sa_mask.
static void raise_other(int number) {
    CHECK_EQUAL(number, SIGUSR1);
    CHECK_EQUAL(raise(SIGUSR2), 0);
    CHECK_EQUAL(counts[SIGUSR2], 0);
}

void part_nested(void) {
    counts[SIGUSR1] = 0;
    counts[SIGUSR2] = 0;
    handle(SIGUSR1, nest_once, 0);
    handle(SIGUSR2, nest, 0);
    CHECK_EQUAL(raise(SIGUSR1), 0);
    CHECK_EQUAL(depth_most, 2);
    CHECK_EQUAL(counts[SIGUSR1], 2);
    CHECK_EQUAL(counts[SIGUSR2], 1);

    handle(SIGHUP, reenter, SA_NODEFER);
    counts[SIGHUP] = 0;
    CHECK_EQUAL(raise(SIGHUP), 0);
    CHECK_EQUAL(counts[SIGHUP], 5);

    // SA_RESETHAND: the second one would end the program, so only ask what is installed.
    handle(SIGHUP, count, SA_RESETHAND);
    CHECK_EQUAL(raise(SIGHUP), 0);
    struct sigaction now;
    CHECK_EQUAL(sigaction(SIGHUP, NULL, &now), 0);
    CHECK(now.sa_handler == SIG_DFL);

    // sa_mask holds back others while the handler runs.
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = raise_other;
    sigaddset(&action.sa_mask, SIGUSR2);
    CHECK_EQUAL(sigaction(SIGUSR1, &action, NULL), 0);
    handle(SIGUSR2, count, 0);
    counts[SIGUSR2] = 0;
    CHECK_EQUAL(raise(SIGUSR1), 0);
    CHECK_EQUAL(counts[SIGUSR2], 1);

    // Two that are pending both come when they may.
    sigset_t both = set_of(SIGUSR1, SIGUSR2);
    sigset_t old;
    handled_in_all = 0;
    handle(SIGUSR1, count, 0);
    CHECK_EQUAL(sigprocmask(SIG_BLOCK, &both, &old), 0);
    CHECK_EQUAL(raise(SIGUSR2), 0);
    CHECK_EQUAL(raise(SIGUSR1), 0);
    CHECK_EQUAL(sigprocmask(SIG_SETMASK, &old, NULL), 0);
    CHECK_EQUAL(handled_in_all, 2);
}
