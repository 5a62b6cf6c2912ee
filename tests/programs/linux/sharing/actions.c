// SPDX-License-Identifier: Apache-2.0 OR MIT
// Signal actions that processes in the same memory have together. Children use no errno while the first
// process runs.
#include "parts.h"

static volatile sig_atomic_t counts[2];
static volatile pid_t runner;

static void count_first(int signo) {
    (void)signo;
    counts[0] = counts[0] + 1;
    runner = (pid_t)raw(SYS_getpid, 0, 0, 0);
}

static void count_second(int signo) {
    (void)signo;
    counts[1] = counts[1] + 1;
}

static void *handler_of(int signo) {
    struct sigaction now;
    CHECK(sigaction(signo, NULL, &now) == 0);
    return (void *)now.sa_handler;
}

static void set(int signo, void (*handler)(int), int how) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = how};
    CHECK(sigaction(signo, &action, NULL) == 0);
}

static int change(void *unused) {
    (void)unused;
    set(SIGUSR1, count_first, 0);
    reach(1);
    await(2);
    CHECK(handler_of(SIGUSR1) == (void *)count_second && handler_of(SIGUSR2) == (void *)SIG_IGN);
    CHECK(raw(SYS_kill, raw(SYS_getpid, 0, 0, 0), SIGUSR1, 0) == 0);
    // A handler for once is gone for both.
    set(SIGUSR1, count_first, SA_RESETHAND);
    CHECK(raw(SYS_kill, raw(SYS_getpid, 0, 0, 0), SIGUSR1, 0) == 0);
    return 0;
}

static int change_own(void *unused) {
    (void)unused;
    set(SIGUSR1, count_first, 0);
    return 0;
}

static int with_stack(void *expected) {
    (void)expected;
    stack_t now;
    CHECK(sigaltstack(NULL, &now) == 0);
    return (now.ss_flags & SS_DISABLE) != 0 ? 1 : 2;
}

void actions(void) {
    void *stack = new_stack();
    reach(0);
    counts[0] = counts[1] = 0;
    set(SIGUSR1, SIG_DFL, 0);
    pid_t child = run_with(CLONE_SIGHAND, change, stack);
    CHECK(child > 0);
    await(1);
    CHECK(handler_of(SIGUSR1) == (void *)count_first);
    CHECK(raise(SIGUSR1) == 0 && counts[0] == 1 && runner == getpid());
    set(SIGUSR1, count_second, 0);
    set(SIGUSR2, SIG_IGN, 0);
    reach(2);
    CHECK_EQUAL(exit_of(child), 0);
    CHECK(counts[0] == 2 && counts[1] == 1 && runner == child);
    CHECK(handler_of(SIGUSR1) == (void *)SIG_DFL);
    set(SIGUSR2, SIG_DFL, 0);
    // Without the flag they are copies, in the same memory, too.
    CHECK_EQUAL(exit_of(run_with(0, change_own, stack)), 0);
    CHECK(handler_of(SIGUSR1) == (void *)SIG_DFL);
    // Alternate stacks are not for two at a time.
    void *alternate = new_stack();
    stack_t given = {.ss_sp = alternate, .ss_size = STACK}, none = {.ss_flags = SS_DISABLE};
    CHECK(sigaltstack(&given, NULL) == 0);
    CHECK_EQUAL(exit_of(run_with(CLONE_SIGHAND, with_stack, stack)), 1);
    CHECK_EQUAL(exit_of(run_with(CLONE_SIGHAND | CLONE_VFORK, with_stack, stack)), 2);
    CHECK(sigaltstack(&none, NULL) == 0);
    munmap(alternate, STACK);
    munmap(stack, STACK);
}

static sigset_t only(int signo) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signo);
    return set;
}

static bool is_pending(int signo) {
    sigset_t set;
    CHECK(sigpending(&set) == 0);
    return sigismember(&set, signo) == 1;
}

static int block(void *unused) {
    (void)unused;
    sigset_t first = only(SIGUSR1);
    CHECK(sigprocmask(SIG_BLOCK, &first, NULL) == 0);
    reach(1);
    await(2);
    // The other one has said to ignore it, and lost what was pending. This one keeps it until it looks.
    CHECK(is_pending(SIGUSR1));
    CHECK(sigprocmask(SIG_UNBLOCK, &first, NULL) == 0 && !is_pending(SIGUSR1));
    CHECK_EQUAL(counts[0], 0);
    CHECK(sigprocmask(SIG_BLOCK, &first, NULL) == 0);
    reach(3);
    await(4);
    CHECK(is_pending(SIGUSR1));
    set(SIGUSR1, SIG_IGN, 0);
    CHECK(!is_pending(SIGUSR1));
    return 0;
}

static int take_one(void *unused) {
    (void)unused;
    for (int at = 1; at < 5; at += 2) {
        reach(at);
        await(at + 1);
    }
    reach(5);
    return 0;
}

void pending(void) {
    void *stack = new_stack();
    sigset_t first = only(SIGUSR1);
    reach(0);
    counts[0] = 0;
    set(SIGUSR1, count_first, 0);
    CHECK(sigprocmask(SIG_BLOCK, &first, NULL) == 0);
    pid_t child = run_with(CLONE_SIGHAND, block, stack);
    await(1);
    CHECK(raise(SIGUSR1) == 0 && kill(child, SIGUSR1) == 0 && is_pending(SIGUSR1));
    set(SIGUSR1, SIG_IGN, 0);
    CHECK(!is_pending(SIGUSR1));
    reach(2);
    await(3);
    set(SIGUSR1, count_first, 0);
    CHECK(raise(SIGUSR1) == 0 && kill(child, SIGUSR1) == 0);
    reach(4);
    CHECK_EQUAL(exit_of(child), 0);
    CHECK(is_pending(SIGUSR1) && handler_of(SIGUSR1) == (void *)SIG_IGN);
    CHECK(sigprocmask(SIG_UNBLOCK, &first, NULL) == 0 && !is_pending(SIGUSR1));
    CHECK_EQUAL(counts[0], 0);
    // What is pending for one that is stopped is decided on when it goes on.
    reach(0);
    child = run_with(CLONE_SIGHAND, take_one, stack);
    await(1);
    for (int round = 0; round < 2; ++round) {
        int status;
        CHECK(kill(child, SIGSTOP) == 0);
        CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status));
        set(SIGUSR1, count_first, 0);
        CHECK(kill(child, SIGUSR1) == 0);
        set(SIGUSR1, SIG_IGN, 0);
        if (round == 1) {
            set(SIGUSR1, count_first, 0);
        }
        CHECK(kill(child, SIGCONT) == 0);
        reach(2 + 2 * round);
        await(3 + 2 * round);
        CHECK_EQUAL(counts[0], round);
    }
    CHECK_EQUAL(exit_of(child), 0);
    set(SIGUSR1, SIG_DFL, 0);
    munmap(stack, STACK);
}
