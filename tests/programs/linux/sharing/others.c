// SPDX-License-Identifier: Apache-2.0 OR MIT
// Signal actions that are shared, and other programs, children and the ends of processes.
#include "parts.h"

static void *handler_of(int signo) {
    struct sigaction now;
    CHECK(sigaction(signo, NULL, &now) == 0);
    return (void *)now.sa_handler;
}

static void nothing_to_do(int signo) { (void)signo; }

static int ignore_children(void *unused) {
    (void)unused;
    signal(SIGCHLD, SIG_IGN);
    return 0;
}

static int keep_no_children(void *unused) {
    (void)unused;
    struct sigaction action = {.sa_handler = nothing_to_do, .sa_flags = SA_NOCLDWAIT};
    return sigaction(SIGCHLD, &action, NULL);
}

static pid_t child_that_ends(void) {
    pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    return child;
}

// What one says of its children is so for those of the other, too.
void children(void) {
    void *stack = new_stack();
    int (*const ways[])(void *) = {ignore_children, keep_no_children};
    for (int way = 0; way < 2; ++way) {
        CHECK_EQUAL(exit_of(child_that_ends()), 0);
        pid_t child = run_with(CLONE_SIGHAND | CLONE_VFORK, ways[way], stack);
        CHECK(child > 0);
        // Its own end came after that.
        CHECK_ERRNO(waitpid(child, NULL, 0), ECHILD);
        child = child_that_ends();
        CHECK_ERRNO(waitpid(child, NULL, 0), ECHILD);
        signal(SIGCHLD, SIG_DFL);
    }
    munmap(stack, STACK);
}

static int run_another(void *unused) {
    (void)unused;
    become("actions");
    return 0;
}

// Another program has its own actions, and leaves the old ones as they are.
void programs(void) {
    void *stack = new_stack();
    signal(SIGUSR1, nothing_to_do);
    signal(SIGUSR2, SIG_IGN);
    for (int round = 0; round < 3; ++round) {
        unsigned long with = round == 1 ? CLONE_VFORK : round == 2 ? CLONE_FILES | CLONE_FS : 0;
        pid_t child = run_with(CLONE_SIGHAND | with, run_another, stack);
        CHECK_EQUAL(exit_of(child), 6);
        CHECK(handler_of(SIGUSR1) == (void *)nothing_to_do && handler_of(SIGUSR2) == (void *)SIG_IGN);
    }
    signal(SIGUSR1, SIG_DFL);
    signal(SIGUSR2, SIG_DFL);
    munmap(stack, STACK);
}

static int stay(void *unused) {
    (void)unused;
    await(1);
    return 0;
}

// Memory and actions that are shared cannot be given up; those of one that nobody has waited for are.
void unsharing(void) {
    void *stack = new_stack();
    CHECK(unshare(CLONE_THREAD | CLONE_SIGHAND | CLONE_VM) == 0);
    reach(0);
    pid_t child = run_with(CLONE_SIGHAND, stay, stack);
    CHECK_ERRNO(unshare(CLONE_SIGHAND), EINVAL);
    CHECK_ERRNO(unshare(CLONE_VM), EINVAL);
    CHECK(unshare(CLONE_THREAD | CLONE_FS | CLONE_FILES) == 0);
    reach(1);
    siginfo_t info;
    CHECK(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) == 0);
    CHECK_ERRNO(unshare(CLONE_SIGHAND), EINVAL);
    CHECK_EQUAL(exit_of(child), 0);
    CHECK(unshare(CLONE_SIGHAND) == 0 && unshare(CLONE_VM) == 0);
    reach(0);
    child = run_with(0, stay, stack);
    CHECK(unshare(CLONE_SIGHAND) == 0);
    CHECK_ERRNO(unshare(CLONE_VM), EINVAL);
    reach(1);
    CHECK_EQUAL(exit_of(child), 0);
    CHECK(unshare(CLONE_VM) == 0);
    munmap(stack, STACK);
}
