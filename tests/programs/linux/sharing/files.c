// SPDX-License-Identifier: Apache-2.0 OR MIT
// Descriptors that processes have together.
#include "parts.h"

#include <mqueue.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2
#endif

static int close_range_of(unsigned first, unsigned last, unsigned how) {
    return (int)syscall(SYS_close_range, first, last, how);
}

void flags(void) {
    CHECK_ERRNO(fork_with(CLONE_SIGHAND), EINVAL);
    CHECK_ERRNO(fork_with(CLONE_SIGHAND | CLONE_FILES | CLONE_FS), EINVAL);
    CHECK_ERRNO(fork_with(CLONE_NEWNS | CLONE_FS), EINVAL);
    CHECK_ERRNO(fork_with(CLONE_NEWUSER | CLONE_FS), EINVAL);
    CHECK_ERRNO(fork_with(CLONE_THREAD), EINVAL);
    CHECK_ERRNO(fork_with(CLONE_THREAD | CLONE_SIGHAND), EINVAL);
    struct {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
    } arguments = {.flags = CLONE_SIGHAND, .exit_signal = SIGCHLD};
    CHECK_ERRNO(syscall(SYS_clone3, &arguments, sizeof arguments), EINVAL);
    arguments.flags = CLONE_FILES | CLONE_FS;
    pid_t child = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
    if (child == 0) {
        _exit(dup2(STDIN_FILENO, 90) == 90 ? 3 : 4);
    }
    CHECK_EQUAL(exit_of(child), 3);
    CHECK(is_open(90) && close(90) == 0);
    CHECK_ERRNO(unshare(CLONE_PARENT), EINVAL);
    CHECK_ERRNO(unshare(SIGCHLD), EINVAL);
    CHECK(unshare(0) == 0);
}

void files(void) {
    int before = count_descriptors("/proc/self/fd");
    reach(0);
    CHECK(dup2(STDIN_FILENO, 50) == 50);
    pid_t child = fork_with(CLONE_FILES);
    if (child == 0) {
        CHECK(is_open(50));
        // What the child opens is the parent's, with its mark and its position.
        int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
        CHECK(fd >= 0 && dup3(fd, 51, O_CLOEXEC) == 51 && close(fd) == 0);
        CHECK(read(51, &(char){0}, 1) == 1);
        reach(1);
        await(2);
        CHECK(!is_open(51) && is_open(52));
        CHECK_ERRNO(read(51, &(char){0}, 1), EBADF);
        CHECK_EQUAL(fcntl(52, F_GETFD), 0);
        CHECK(fcntl(52, F_SETFD, FD_CLOEXEC) == 0 && close(50) == 0);
        _exit(7);
    }
    await(1);
    CHECK_EQUAL(fcntl(51, F_GETFD), FD_CLOEXEC);
    CHECK_EQUAL(lseek(51, 0, SEEK_CUR), 1);
    CHECK(dup2(51, 52) == 52 && close(51) == 0);
    reach(2);
    CHECK_EQUAL(exit_of(child), 7);
    CHECK(!is_open(50) && fcntl(52, F_GETFD) == FD_CLOEXEC && close(52) == 0);
    // Limits are each one's own.
    reach(0);
    child = fork_with(CLONE_FILES);
    if (child == 0) {
        struct rlimit few = {.rlim_cur = 40, .rlim_max = 40};
        CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
        reach(1);
        await(2);
        CHECK(is_open(60));
        CHECK_ERRNO(fcntl(0, F_DUPFD, 40), EINVAL);
        CHECK_ERRNO(dup2(0, 61), EBADF);
        _exit(0);
    }
    await(1);
    CHECK(fcntl(0, F_DUPFD, 60) == 60);
    reach(2);
    CHECK_EQUAL(exit_of(child), 0);
    CHECK(close(60) == 0);
    // An instance of epoll forgets a file that anybody closes.
    int ends[2], instance = epoll_create1(0);
    CHECK(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
    child = fork_with(CLONE_FILES);
    if (child == 0) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = ends[0]};
        _exit(epoll_ctl(instance, EPOLL_CTL_ADD, ends[0], &event) == 0 ? 0 : 1);
    }
    CHECK_EQUAL(exit_of(child), 0);
    struct epoll_event event;
    CHECK_EQUAL(epoll_wait(instance, &event, 1, 0), 1);
    CHECK_EQUAL(event.data.fd, ends[0]);
    child = fork_with(CLONE_FILES);
    if (child == 0) {
        _exit(close(ends[0]) == 0 ? 0 : 1);
    }
    CHECK_EQUAL(exit_of(child), 0);
    CHECK_EQUAL(epoll_wait(instance, &event, 1, 0), 0);
    CHECK(close(instance) == 0 && close(ends[1]) == 0);
    // A descriptor of the child is the child's, too.
    int file = -1;
    child = (pid_t)syscall(SYS_clone, CLONE_FILES | CLONE_PIDFD | SIGCHLD, 0, &file, 0, 0);
    if (child == 0) {
        await(3);
        _exit(fcntl(*(volatile int *)step, F_GETFD) == FD_CLOEXEC ? 0 : 1);
    }
    CHECK(file >= 3);
    reach(file);
    CHECK_EQUAL(exit_of(child), 0);
    CHECK(close(file) == 0);
    CHECK_EQUAL(count_descriptors("/proc/self/fd"), before);
}

// Who shares no files, or no more, changes only his own.
void copies(void) {
    int before = count_descriptors("/proc/self/fd");
    CHECK(dup2(STDIN_FILENO, 50) == 50);
    pid_t child = fork_with(CLONE_FS);
    if (child == 0) {
        _exit(close(50) == 0 && dup2(0, 51) == 51 ? 0 : 1);
    }
    CHECK_EQUAL(exit_of(child), 0);
    CHECK(is_open(50) && !is_open(51));
    child = fork_with(CLONE_FILES);
    if (child == 0) {
        CHECK(dup2(0, 51) == 51);
        CHECK(unshare(CLONE_FILES) == 0 && unshare(CLONE_FILES | CLONE_FS | CLONE_SYSVSEM) == 0);
        CHECK(is_open(50) && is_open(51) && close(50) == 0 && dup2(0, 52) == 52);
        _exit(0);
    }
    CHECK_EQUAL(exit_of(child), 0);
    CHECK(is_open(50) && is_open(51) && !is_open(52));
    child = fork_with(CLONE_FILES);
    if (child == 0) {
        CHECK_ERRNO(close_range_of(3, ~0U, 8), EINVAL);
        CHECK(close_range_of(51, ~0U, CLOSE_RANGE_UNSHARE) == 0);
        CHECK(is_open(50) && !is_open(51) && dup2(0, 52) == 52);
        _exit(0);
    }
    CHECK_EQUAL(exit_of(child), 0);
    CHECK(is_open(50) && is_open(51) && !is_open(52));
    // Where nothing is shared it is as without.
    CHECK(close_range_of(50, 51, CLOSE_RANGE_UNSHARE) == 0);
    CHECK_EQUAL(count_descriptors("/proc/self/fd"), before);
}

static bool has_hung_up(int fd) {
    struct pollfd end = {.fd = fd, .events = POLLIN};
    return poll(&end, 1, 0) == 1 && (end.revents & POLLHUP) != 0;
}

// Files are open until the last one of those who share them has ended, however that is.
void ends(void) {
    for (int way = 0; way < 3; ++way) {
        int pipes[2];
        CHECK(pipe(pipes) == 0);
        reach(0);
        pid_t first = fork();
        if (first == 0) {
            if (fork_with(CLONE_FILES) == 0) {
                reach(1);
                await(2);
                CHECK(write(pipes[1], "y", 1) == 1);
                switch (way) {
                case 0:
                    _exit(0);
                case 1:
                    kill(getpid(), SIGKILL);
                    break;
                default:
                    fcntl(pipes[1], F_SETFD, FD_CLOEXEC);
                    become("nothing");
                }
            }
            await(1);
            _exit(0);
        }
        CHECK(close(pipes[1]) == 0);
        CHECK_EQUAL(exit_of(first), 0);
        CHECK(!has_hung_up(pipes[0]));
        reach(2);
        char byte = 0;
        CHECK(read(pipes[0], &byte, 1) == 1 && byte == 'y');
        CHECK(read(pipes[0], &byte, 1) == 0 && has_hung_up(pipes[0]));
        CHECK(close(pipes[0]) == 0);
    }
    // Who has registered with a queue of messages is a process, and only its closing counts.
    char name[40];
    snprintf(name, sizeof name, "/sharing-%d", getpid());
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT, 0600, NULL);
    CHECK(queue >= 0 && mq_unlink(name) == 0);
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    CHECK(mq_notify(queue, &event) == 0);
    pid_t child = fork_with(CLONE_FILES);
    if (child == 0) {
        CHECK(close(dup(queue)) == 0);
        CHECK_ERRNO(mq_notify(queue, &event), EBUSY);
        _exit(mq_notify(queue, NULL));
    }
    CHECK_EQUAL(exit_of(child), 0);
    CHECK_ERRNO(mq_notify(queue, &event), EBUSY);
    CHECK(close(dup(queue)) == 0 && mq_notify(queue, &event) == 0 && close(queue) == 0);
}

// What the first process has opened in another one's directory.
void listings(void) {
    reach(0);
    CHECK(dup2(STDIN_FILENO, 70) == 70);
    pid_t child = fork_with(CLONE_FILES);
    if (child == 0) {
        CHECK(dup2(70, 71) == 71);
        reach(1);
        await(2);
        _exit(0);
    }
    await(1);
    char directory[40], link[60], text[100];
    snprintf(directory, sizeof directory, "/proc/%d/fd", child);
    CHECK_EQUAL(count_descriptors(directory), count_descriptors("/proc/self/fd"));
    snprintf(link, sizeof link, "/proc/%d/fd/71", child);
    CHECK(readlink(link, text, sizeof text) > 0);
    CHECK(close(71) == 0);
    CHECK_ERRNO(readlink(link, text, sizeof text), ENOENT);
    CHECK(dup2(70, 71) == 71 && readlink(link, text, sizeof text) > 0);
    reach(2);
    siginfo_t info;
    CHECK(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) == 0);
    // One that has ended has no files, whoever has them still.
    CHECK_ERRNO(readlink(link, text, sizeof text), ENOENT);
    snprintf(link, sizeof link, "/proc/%d/cwd", child);
    CHECK_ERRNO(readlink(link, text, sizeof text), ENOENT);
    CHECK(is_open(71));
    CHECK_EQUAL(exit_of(child), 0);
    CHECK(close(70) == 0 && close(71) == 0);
}
