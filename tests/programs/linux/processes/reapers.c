// SPDX-License-Identifier: Apache-2.0 OR MIT
// Who gets the children of a process that ends: the nearest ancestor that has asked for them.

#include "parts.h"

#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static void reap_others(bool on) { CHECK_EQUAL(prctl(PR_SET_CHILD_SUBREAPER, (long)on), 0); }

// A child that makes another one and ends; returns the id of the other, which does what `act` says.
static pid_t orphan(void (*act)(void)) {
    int ends[2];
    pid_t made = 0;
    CHECK_EQUAL(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        pid_t other = fork();
        if (other == 0) {
            act();
            _exit(7);
        }
        CHECK_EQUAL(write(ends[1], &other, sizeof other), sizeof other);
        _exit(0);
    }
    CHECK_EQUAL(read(ends[0], &made, sizeof made), sizeof made);
    CHECK_EQUAL(exit_of(child), 0);
    close(ends[0]), close(ends[1]);
    return made;
}

static pid_t wanted_parent;

static void wait_for_parent(void) {
    for (int i = 0; getppid() != wanted_parent; i++) {
        CHECK(i < 20000);
        usleep(1000);
    }
}

static void ends_at_once(void) {}

static void on_child(int number) { (void)number; }

static void orphans(void) {
    int is_one = -1;
    CHECK_EQUAL(prctl(PR_GET_CHILD_SUBREAPER, &is_one), 0);
    CHECK_EQUAL(is_one, 0);
    reap_others(true);
    prctl(PR_GET_CHILD_SUBREAPER, &is_one);
    CHECK_EQUAL(is_one, 1);
    CHECK_ERRNO(prctl(PR_GET_CHILD_SUBREAPER, 8L), EFAULT);
    // A child is none.
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_GET_CHILD_SUBREAPER, &is_one);
        _exit(is_one);
    }
    CHECK_EQUAL(exit_of(child), 0);
    wanted_parent = getpid();
    child = orphan(wait_for_parent);
    CHECK_EQUAL(exit_of(child), 7);
    child = orphan(ends_at_once);
    CHECK_EQUAL(exit_of(child), 7);
    CHECK_ERRNO(waitpid(-1, NULL, 0), ECHILD);
}

// One that has ended before its parent, which has not waited for it.
static void leftovers(void) {
    int ends[2];
    pid_t other = 0;
    CHECK_EQUAL(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        other = fork();
        if (other == 0) {
            _exit(9);
        }
        siginfo_t info;
        CHECK_EQUAL(waitid(P_PID, (id_t)other, &info, WEXITED | WNOWAIT), 0);
        CHECK_EQUAL(write(ends[1], &other, sizeof other), sizeof other);
        _exit(0);
    }
    CHECK_EQUAL(read(ends[0], &other, sizeof other), sizeof other);
    CHECK_EQUAL(exit_of(child), 0);
    CHECK_EQUAL(exit_of(other), 9);
    close(ends[0]), close(ends[1]);
}

// What orphans send is SIGCHLD, whatever they were made with.
static void their_signal(void) {
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    signal(SIGCHLD, on_child);
    sigprocmask(SIG_BLOCK, &set, &before);
    int ends[2], gate[2];
    pid_t other = 0;
    CHECK_EQUAL(pipe(ends) | pipe(gate), 0);
    pid_t child = fork();
    if (child == 0) {
        other = (pid_t)syscall(SYS_clone, SIGUSR2, 0, 0, 0, 0);
        if (other == 0) {
            char byte;
            close(gate[1]);
            wait_for_parent();
            CHECK_EQUAL(read(gate[0], &byte, 1), 0);
            _exit(3);
        }
        CHECK_EQUAL(write(ends[1], &other, sizeof other), sizeof other);
        _exit(0);
    }
    CHECK_EQUAL(read(ends[0], &other, sizeof other), sizeof other);
    CHECK_EQUAL(exit_of(child), 0);
    siginfo_t info;
    CHECK_EQUAL(sigwaitinfo(&set, &info), SIGCHLD);
    close(gate[1]);
    do {
        CHECK_EQUAL(sigwaitinfo(&set, &info), SIGCHLD);
    } while (info.si_pid != other);
    CHECK_EQUAL(info.si_status, 3);
    CHECK_EQUAL(exit_of(other), 3);
    close(ends[0]), close(ends[1]), close(gate[0]);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

// The nearest one, and the next when that has ended.
static void nested(void) {
    int ends[2];
    pid_t other = 0;
    CHECK_EQUAL(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        reap_others(true);
        wanted_parent = getpid();
        other = orphan(wait_for_parent);
        CHECK_EQUAL(exit_of(other), 7);
        wanted_parent = getppid();
        other = orphan(wait_for_parent);
        CHECK_EQUAL(write(ends[1], &other, sizeof other), sizeof other);
        _exit(0);
    }
    CHECK_EQUAL(read(ends[0], &other, sizeof other), sizeof other);
    CHECK_EQUAL(exit_of(child), 0);
    CHECK_EQUAL(exit_of(other), 7);
    close(ends[0]), close(ends[1]);
}

// Who ignores SIGCHLD has nobody to wait for.
static void ignored(void) {
    signal(SIGCHLD, SIG_IGN);
    int ends[2];
    char byte;
    CHECK_EQUAL(pipe(ends), 0);
    for (int i = 0; i < 20; i++) {
        if (fork() == 0) {
            if (fork() == 0) {
                usleep((unsigned)i * 100);
                _exit(0);
            }
            usleep((unsigned)(20 - i) * 100);
            _exit(0);
        }
    }
    close(ends[1]);
    // Until all have ended.
    CHECK_EQUAL(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    CHECK_ERRNO(wait(NULL), ECHILD);
    signal(SIGCHLD, SIG_DFL);
}

// Reapers, parents and children that end at the same time: each is waited for once.
static void races(void) {
    enum { ROUNDS = 100, EACH = 4 };
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < EACH; i++) {
            if (fork() == 0) {
                reap_others(true);
                for (int j = 0; j < 2; j++) {
                    if (fork() == 0) {
                        if (fork() == 0) {
                            usleep((unsigned)(round % 7) * 50);
                            _exit(1);
                        }
                        usleep((unsigned)(round % 5) * 50);
                        _exit(1);
                    }
                }
                usleep((unsigned)(round % 3) * 100);
                _exit(0);
            }
        }
        int status, reapers = 0, others = 0;
        while (wait(&status) > 0) {
            reapers += status == 0;
            others += status != 0;
        }
        CHECK_EQUAL(errno, ECHILD);
        CHECK_EQUAL(reapers, EACH);
        CHECK_EQUAL(others, 4 * EACH);
    }
}

void reapers(void) {
    orphans();
    leftovers();
    their_signal();
    nested();
    ignored();
    races();
    reap_others(false);
}
