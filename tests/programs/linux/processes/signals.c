// SPDX-License-Identifier: Apache-2.0 OR MIT
// Signals between processes, files of signals, and process groups.
#include "parts.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

static volatile sig_atomic_t heard, heard_pid, heard_code, heard_status;

static void on_child(int signo, siginfo_t *info, void *context) {
    (void)signo;
    (void)context;
    heard += 1;
    heard_pid = info->si_pid;
    heard_code = info->si_code;
    heard_status = info->si_status;
}

static volatile sig_atomic_t got;

static void on_value(int signo, siginfo_t *info, void *context) {
    (void)signo;
    (void)context;
    got = info->si_value.sival_int + (info->si_pid == getppid());
}

void signals(void) {
    struct sigaction action = {.sa_sigaction = on_child, .sa_flags = SA_SIGINFO | SA_RESTART};
    CHECK(sigaction(SIGCHLD, &action, NULL) == 0);
    pid_t child = fork();
    if (child == 0) {
        _exit(3);
    }
    CHECK_EQUAL(exit_of(child), 3);
    CHECK(heard == 1 && heard_pid == child && heard_code == CLD_EXITED && heard_status == 3);
    child = fork();
    if (child == 0) {
        pause();
    }
    CHECK(kill(child, SIGTERM) == 0);
    CHECK_EQUAL(WTERMSIG(status_of(child)), SIGTERM);
    CHECK(heard == 2 && heard_code == CLD_KILLED && heard_status == SIGTERM);
    // A child that nobody wants to hear of.
    CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    child = fork();
    if (child == 0) {
        _exit(0);
    }
    CHECK_ERRNO(waitpid(child, NULL, 0), ECHILD);
    CHECK(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
    // A value, and a mask that is inherited.
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    child = fork();
    if (child == 0) {
        struct sigaction of_value = {.sa_sigaction = on_value, .sa_flags = SA_SIGINFO};
        sigaction(SIGUSR1, &of_value, NULL);
        sigset_t none;
        sigemptyset(&none);
        while (got == 0) {
            sigsuspend(&none);
        }
        _exit(got);
    }
    CHECK(sigqueue(child, SIGUSR1, (union sigval){.sival_int = 20}) == 0);
    CHECK_EQUAL(exit_of(child), 21);
    CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
    // A pending signal is not inherited, nor is an interval timer.
    CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0 && raise(SIGUSR1) == 0);
    alarm(100);
    child = fork();
    if (child == 0) {
        sigset_t pending;
        sigpending(&pending);
        _exit(sigismember(&pending, SIGUSR1) + 2 * (alarm(0) != 0));
    }
    CHECK_EQUAL(exit_of(child), 0);
    CHECK(alarm(0) != 0);
    int signo;
    CHECK(sigwait(&set, &signo) == 0 && signo == SIGUSR1);
    CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
}

static int next_signal(int fd) {
    struct signalfd_siginfo info;
    ssize_t length = read(fd, &info, sizeof info);
    CHECK(length == sizeof info || (length == -1 && errno == EAGAIN));
    return length == -1 ? 0 : (int)info.ssi_signo;
}

// A file of signals gives each process its own.
void files_of_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    int file = signalfd(-1, &set, SFD_NONBLOCK);
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    CHECK(file >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, file, &event) == 0);
    CHECK(kill(getpid(), SIGUSR2) == 0);
    pid_t child = fork();
    if (child == 0) {
        struct pollfd readable = {.fd = file, .events = POLLIN};
        CHECK(poll(&readable, 1, 0) == 0 && next_signal(file) == 0);
        CHECK(kill(getpid(), SIGUSR1) == 0);
        CHECK(poll(&readable, 1, 0) == 1 && next_signal(file) == SIGUSR1);
        // A signal ends a wait for it.
        pid_t sender = fork();
        if (sender == 0) {
            usleep(20000);
            kill(getppid(), SIGUSR1);
            _exit(0);
        }
        CHECK(poll(&readable, 1, 20000) == 1 && next_signal(file) == SIGUSR1);
        CHECK_EQUAL(exit_of(sender), 0);
        // What another process has added can be taken out.
        CHECK(epoll_ctl(epoll, EPOLL_CTL_DEL, file, NULL) == 0);
        close(epoll);
        _exit(3);
    }
    CHECK_EQUAL(exit_of(child), 3);
    CHECK_EQUAL(next_signal(file), SIGUSR2);
    CHECK_EQUAL(epoll_ctl(epoll, EPOLL_CTL_ADD, file, &event), 0);
    CHECK(epoll_wait(epoll, &event, 1, 0) == 0 && kill(getpid(), SIGUSR1) == 0);
    CHECK(epoll_wait(epoll, &event, 1, 20000) == 1 && next_signal(file) == SIGUSR1);
    close(epoll);
    close(file);
    CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
}

void groups(void) {
    CHECK(getpgrp() == getpgid(0));
    pid_t leader = fork();
    if (leader == 0) {
        CHECK(setpgid(0, 0) == 0 && getpgrp() == getpid());
        CHECK_ERRNO(setsid(), EPERM);
        for (int index = 0; index < 3; ++index) {
            if (fork() == 0) {
                pause();
            }
        }
        CHECK(signal(SIGTERM, SIG_IGN) != SIG_ERR);
        CHECK(kill(0, SIGTERM) == 0);
        int count = 0;
        for (int status; waitpid(0, &status, 0) > 0; ++count) {
            CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
        }
        _exit(count);
    }
    CHECK_EQUAL(exit_of(leader), 3);
    pid_t child = fork();
    if (child == 0) {
        CHECK(setsid() == getpid() && getsid(0) == getpid() && getpgrp() == getpid());
        CHECK_ERRNO(setpgid(0, 0), EPERM);
        _exit(0);
    }
    CHECK_EQUAL(exit_of(child), 0);
    CHECK_ERRNO(getpgid(4000000), ESRCH);
    CHECK_ERRNO(kill(-4000000, 0), ESRCH);
    CHECK_ERRNO(setpgid(0, 4000000), EPERM);
}

// Each is the parent of the next, and ends: at any time one is being made. A signal to the group ends them
// all, and with them the pipe.
void chains(void) {
    pid_t keeper = fork();
    if (keeper == 0) {
        // They are this one's to wait for where that can be had.
        CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
        prctl(PR_SET_CHILD_SUBREAPER, 1L);
        for (int round = 0; round < 20; ++round) {
            int ends[2];
            CHECK(pipe(ends) == 0);
            pid_t leader = fork();
            if (leader == 0) {
                CHECK(setpgid(0, 0) == 0);
                close(ends[0]);
                CHECK(write(ends[1], "", 1) == 1);
                while (fork() <= 0) {
                }
                _exit(0);
            }
            char byte;
            CHECK_EQUAL(read(ends[0], &byte, 1), 1);
            close(ends[1]);
            usleep(3000 + (unsigned)round * 100);
            CHECK(kill(-leader, SIGKILL) == 0);
            struct pollfd end = {.fd = ends[0], .events = POLLIN};
            CHECK_EQUAL(poll(&end, 1, 20000), 1);
            CHECK_EQUAL(read(ends[0], &byte, 1), 0);
            close(ends[0]);
        }
        _exit(6);
    }
    CHECK_EQUAL(exit_of(keeper), 6);
}
