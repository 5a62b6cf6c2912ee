// SPDX-License-Identifier: Apache-2.0 OR MIT
// Descriptors of processes.
#include "parts.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

// Flags of clone.
enum { PIDFD = 0x1000, PARENT_SETTID = 0x100000 };

static int open_process(pid_t pid, unsigned flags) { return (int)syscall(SYS_pidfd_open, pid, flags); }

static int send_signal(int file, int signo, siginfo_t *info) {
    return (int)syscall(SYS_pidfd_send_signal, file, signo, info, 0);
}

static bool is_readable(int file) {
    struct pollfd end = {.fd = file, .events = POLLIN};
    return poll(&end, 1, 0) == 1 && (end.revents & POLLIN) != 0;
}

static pid_t pausing(void) {
    pid_t child = fork();
    if (child == 0) {
        for (;;) {
            pause();
        }
    }
    return child;
}

static void opening(void) {
    CHECK_ERRNO(open_process(0, 0), EINVAL);
    CHECK_ERRNO(open_process(-1, 0), EINVAL);
    CHECK_ERRNO(open_process(4000000, 0), ESRCH);
    CHECK_ERRNO(open_process(getpid(), 1), EINVAL);
    CHECK_ERRNO(send_signal(1000, 0, NULL), EBADF);
    CHECK_ERRNO(send_signal(STDIN_FILENO, 0, NULL), EBADF);
    int own = open_process(getpid(), 0);
    CHECK(own >= 0 && fcntl(own, F_GETFD) == FD_CLOEXEC);
    CHECK(!is_readable(own) && send_signal(own, 0, NULL) == 0);
    CHECK_ERRNO(read(own, &(char){0}, 1), EINVAL);
    close(own);
}

static void waiting_by_file(void) {
    pid_t child = pausing();
    int file = open_process(child, 0), nonblocking = open_process(child, O_NONBLOCK);
    CHECK(file >= 0 && nonblocking >= 0 && !is_readable(file));
    siginfo_t info;
    CHECK_ERRNO(waitid(P_PIDFD, (id_t)nonblocking, &info, WEXITED), EAGAIN);
    CHECK(waitid(P_PIDFD, (id_t)nonblocking, &info, WEXITED | WNOHANG) == 0);
    CHECK_ERRNO(waitid(P_PIDFD, STDIN_FILENO, &info, WEXITED), EBADF);
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, file, &event) == 0 && epoll_wait(epoll, &event, 1, 0) == 0);
    pid_t killer = fork();
    if (killer == 0) {
        usleep(10000);
        // A descriptor is the same in another process.
        _exit(send_signal(file, SIGTERM, NULL) == 0 ? 0 : 1);
    }
    CHECK_EQUAL(epoll_wait(epoll, &event, 1, 20000), 1);
    CHECK(is_readable(file) && is_readable(nonblocking));
    // It waits to be waited for, and can be asked for.
    CHECK(send_signal(file, 0, NULL) == 0);
    CHECK(waitid(P_PIDFD, (id_t)file, &info, WEXITED) == 0 && info.si_pid == child);
    CHECK(info.si_code == CLD_KILLED && info.si_status == SIGTERM);
    CHECK_ERRNO(send_signal(file, 0, NULL), ESRCH);
    CHECK_ERRNO(waitid(P_PIDFD, (id_t)file, &info, WEXITED), ECHILD);
    CHECK(is_readable(file));
    CHECK_EQUAL(exit_of(killer), 0);
    close(epoll);
    close(file);
    close(nonblocking);
}

// A descriptor stays that process's, whoever gets its id.
static void identity(void) {
    pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    int file = open_process(child, 0);
    CHECK_EQUAL(exit_of(child), 0);
    for (int index = 0; index < SEQUENCE; ++index) {
        pid_t other = pausing();
        CHECK_ERRNO(send_signal(file, SIGKILL, NULL), ESRCH);
        CHECK(is_readable(file));
        CHECK(kill(other, SIGKILL) == 0 && WTERMSIG(status_of(other)) == SIGKILL);
    }
    close(file);
}

static volatile sig_atomic_t got_value;

static void on_value(int signo, siginfo_t *info, void *context) {
    (void)signo;
    (void)context;
    got_value = info->si_value.sival_int;
}

static void content(void) {
    struct sigaction action = {.sa_sigaction = on_value, .sa_flags = SA_SIGINFO};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    int own = open_process(getpid(), 0);
    siginfo_t info = {.si_signo = SIGUSR1, .si_code = SI_QUEUE};
    info.si_value.sival_int = 41;
    CHECK(send_signal(own, SIGUSR1, &info) == 0 && got_value == 41);
    CHECK_ERRNO(send_signal(own, SIGUSR2, &info), EINVAL);
    CHECK_ERRNO(syscall(SYS_pidfd_send_signal, own, SIGUSR1, &info, 0x1000), EINVAL);
    pid_t child = pausing();
    int file = open_process(child, 0);
    info.si_code = SI_USER;
    CHECK_ERRNO(send_signal(file, SIGUSR1, &info), EPERM);
    CHECK(kill(child, SIGKILL) == 0 && WTERMSIG(status_of(child)) == SIGKILL);
    close(file);
    close(own);
}

static void of_clone(void) {
    int file = -1;
    // struct clone_args, which not every C library has: flags, pidfd, two thread ids, exit signal, stack with
    // size, TLS.
    uint64_t arguments[8] = {PIDFD, (uint64_t)(uintptr_t)&file, 0, 0, SIGCHLD};
    long child = syscall(SYS_clone3, arguments, sizeof arguments);
    if (child == 0) {
        _exit(7);
    }
    CHECK(child > 0 && file >= 0 && fcntl(file, F_GETFD) == FD_CLOEXEC);
    siginfo_t info;
    CHECK(waitid(P_PIDFD, (id_t)file, &info, WEXITED) == 0 && info.si_status == 7 && info.si_pid == child);
    close(file);
    arguments[1] = 8;
    CHECK_ERRNO(syscall(SYS_clone3, arguments, sizeof arguments), EFAULT);
    CHECK_ERRNO(syscall(SYS_clone, PIDFD | PARENT_SETTID | SIGCHLD, 0, &file, 0, 0), EINVAL);
}

// Files of another process.
static void files_of_others(void) {
    int ends[2], back[2];
    CHECK(pipe(ends) == 0 && pipe(back) == 0);
    pid_t child = fork();
    if (child == 0) {
        int file = open("/proc/self/exe", O_RDONLY);
        CHECK(write(back[1], &file, sizeof file) == sizeof file);
        char byte;
        CHECK_EQUAL(read(ends[0], &byte, 1), 1);
        _exit(0);
    }
    int number = -1;
    CHECK(read(back[0], &number, sizeof number) == sizeof number);
    int process = open_process(child, 0);
    CHECK_ERRNO(syscall(SYS_pidfd_getfd, process, 1000, 0), EBADF);
    CHECK_ERRNO(syscall(SYS_pidfd_getfd, process, number, 1), EINVAL);
    int copy = (int)syscall(SYS_pidfd_getfd, process, number, 0);
    char magic[4];
    CHECK(copy >= 0 && read(copy, magic, sizeof magic) == sizeof magic && memcmp(magic, "\177ELF", 4) == 0);
    CHECK(write(ends[1], "", 1) == 1);
    CHECK_EQUAL(exit_of(child), 0);
    CHECK_ERRNO(syscall(SYS_pidfd_getfd, process, number, 0), ESRCH);
    close(copy);
    close(process);
    for (int end = 0; end < 2; ++end) {
        close(ends[end]);
        close(back[end]);
    }
}

void descriptors(void) {
    opening();
    waiting_by_file();
    identity();
    content();
    of_clone();
    files_of_others();
}
