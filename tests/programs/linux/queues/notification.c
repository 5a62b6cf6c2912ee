// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Notification by signal, by thread, and by the socket that threads are told through.
#define _GNU_SOURCE
#include "queues.h"

#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void notification(void) {
    mqd_t queue = make(O_RDWR, 4, 16);
    catch_signal(SIGUSR2, 0);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
    event.sigev_value.sival_ptr = &event;
    CHECK_EQUAL(mq_notify(queue, &event), 0);
    CHECK_ERRNO(mq_notify(queue, &event), EBUSY);
    put(queue, "one", 0);
    CHECK_EQUAL(caught, 1);
    CHECK_EQUAL(caught_code, SI_MESGQ);
    CHECK(caught_value == &event);
    CHECK_EQUAL(caught_pid, getpid());
    // Once only; and not while the queue is not empty.
    put(queue, "two", 0);
    CHECK_EQUAL(mq_notify(queue, &event), 0);
    put(queue, "three", 0);
    CHECK_EQUAL(caught, 1);
    expect(queue, "one", 0);
    expect(queue, "two", 0);
    expect(queue, "three", 0);
    put(queue, "four", 0);
    CHECK_EQUAL(caught, 2);
    expect(queue, "four", 0);
    // A thread that waits goes before.
    CHECK_EQUAL(mq_notify(queue, &event), 0);
    struct task task = {0};
    start(&task, queue, receiver);
    put(queue, "five", 0);
    CHECK_EQUAL(pthread_join(task.thread, NULL), 0);
    CHECK_EQUAL(caught, 2);
    char status[128] = {0}, expected[128];
    CHECK(pread(queue, status, sizeof status, 0) > 0);
    snprintf(expected, sizeof expected, "QSIZE:%-10d NOTIFY:%-5d SIGNO:%-5d NOTIFY_PID:%-6d\n", 0,
             SIGEV_SIGNAL, SIGUSR2, getpid());
    CHECK(strcmp(status, expected) == 0);
    // Taken back, and taken away by closing any descriptor.
    CHECK_EQUAL(mq_notify(queue, NULL), 0);
    CHECK_EQUAL(mq_notify(queue, NULL), 0);
    CHECK_EQUAL(mq_notify(queue, &event), 0);
    int copy = dup(queue);
    CHECK_ERRNO(mq_notify(queue, &event), EBUSY);
    CHECK_EQUAL(close(copy), 0);
    CHECK_EQUAL(mq_notify(queue, &event), 0);
    copy = dup(queue);
    CHECK_EQUAL(dup2(1, copy), copy);
    close(copy);
    put(queue, "six", 0);
    CHECK_EQUAL(caught, 2);
    expect(queue, "six", 0);
    // No signal, but nobody else.
    event.sigev_notify = SIGEV_NONE;
    CHECK_EQUAL(mq_notify(queue, &event), 0);
    CHECK_ERRNO(mq_notify(queue, &event), EBUSY);
    put(queue, "seven", 0);
    CHECK_EQUAL(mq_notify(queue, &event), 0);
    CHECK_EQUAL(mq_notify(queue, NULL), 0);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = 65;
    CHECK_ERRNO(mq_notify(queue, &event), EINVAL);
    event.sigev_signo = 0;
    CHECK_EQUAL(mq_notify(queue, &event), 0);
    CHECK_EQUAL(mq_notify(queue, NULL), 0);
    event.sigev_notify = 77;
    CHECK_ERRNO(mq_notify(queue, &event), EINVAL);
    event.sigev_notify = SIGEV_NONE;
    CHECK_ERRNO(mq_notify(0, &event), EBADF);
    CHECK_ERRNO(syscall(SYS_mq_notify, queue, (void *)8), EFAULT);
    done(queue);
}

static int exit_of(pid_t child) {
    int status;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void *end_late(void *argument) {
    pause_a_moment();
    syscall(SYS_exit, 7);
    return argument;
}

// A registration belongs to a process: it goes with that one, and others cannot take it away.
void notification_of_processes(void) {
    mqd_t queue = make(O_RDWR, 4, 16);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = 0};
    CHECK_EQUAL(mq_notify(queue, &event), 0);
    pid_t child = fork();
    if (child == 0) {
        // What is closed is the child's.
        int copy = dup(queue);
        _exit(mq_notify(queue, NULL) == 0 && close(copy) == 0 && close(queue) == 0 ? 7 : 1);
    }
    CHECK_EQUAL(exit_of(child), 7);
    CHECK_ERRNO(mq_notify(queue, &event), EBUSY);
    CHECK_EQUAL(mq_notify(queue, NULL), 0);
    event.sigev_signo = SIGTERM;
    child = fork();
    if (child == 0) {
        _exit(mq_notify(queue, &event) == 0 ? 7 : 1);
    }
    CHECK_EQUAL(exit_of(child), 7);
    // Nobody is told in its place.
    child = fork();
    if (child == 0) {
        pause_a_moment();
        _exit(7);
    }
    put(queue, "x", 0);
    CHECK_EQUAL(exit_of(child), 7);
    // The last thread of a process need not be its first.
    child = fork();
    if (child == 0) {
        pthread_t thread;
        bool runs = mq_notify(queue, &event) == 0 && pthread_create(&thread, NULL, end_late, NULL) == 0;
        syscall(SYS_exit, runs ? 7 : 1);
    }
    CHECK_EQUAL(exit_of(child), 7);
    CHECK_EQUAL(mq_notify(queue, &event), 0);
    done(queue);
}

static sem_t told;
static void *volatile told_value;

static void on_message(union sigval value) {
    told_value = value.sival_ptr;
    sem_post(&told);
}

void notification_by_thread(void) {
    mqd_t queue = make(O_RDWR, 4, 16);
    CHECK_EQUAL(sem_init(&told, 0, 0), 0);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_message};
    for (long round = 1; round <= 20; round++) {
        event.sigev_value.sival_ptr = (void *)round;
        CHECK_EQUAL(mq_notify(queue, &event), 0);
        put(queue, "news", 0);
        CHECK_EQUAL(sem_wait(&told), 0);
        CHECK(told_value == (void *)round);
        expect(queue, "news", 0);
    }
    // Some never come.
    for (int round = 0; round < 20; round++) {
        CHECK_EQUAL(mq_notify(queue, &event), 0);
        CHECK_EQUAL(mq_notify(queue, NULL), 0);
    }
    CHECK_EQUAL(mq_notify(queue, &event), 0);
    CHECK_EQUAL(sem_trywait(&told), -1);
    done(queue);
}

// What C libraries do for it.
void sockets(void) {
    int socket_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
    CHECK(socket_fd >= 0);
    mqd_t queue = make(O_RDWR, 4, 16);
    unsigned char cookie[32], found[64];
    for (int i = 0; i < 32; i++) {
        cookie[i] = (unsigned char)(i + 1);
    }
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_signo = socket_fd};
    event.sigev_value.sival_ptr = cookie;
    CHECK_EQUAL(recv(socket_fd, found, sizeof found, MSG_DONTWAIT), -1);
    CHECK_EQUAL(errno, EAGAIN);
    CHECK_EQUAL(syscall(SYS_mq_notify, queue, &event), 0);
    put(queue, "x", 0);
    struct pollfd poll_fd = {.fd = socket_fd, .events = POLLIN};
    CHECK_EQUAL(poll(&poll_fd, 1, -1), 1);
    CHECK_EQUAL(recv(socket_fd, found, sizeof found, MSG_NOSIGNAL | MSG_WAITALL), 32);
    CHECK(memcmp(found, cookie, 31) == 0);
    CHECK_EQUAL(found[31], 1);
    CHECK_EQUAL(syscall(SYS_mq_notify, queue, &event), 0);
    CHECK_EQUAL(mq_notify(queue, NULL), 0);
    CHECK_EQUAL(recv(socket_fd, found, sizeof found, 0), 32);
    CHECK_EQUAL(found[31], 2);
    event.sigev_signo = 1;
    CHECK_ERRNO(syscall(SYS_mq_notify, queue, &event), ENOTSOCK);
    event.sigev_signo = 9999;
    CHECK_ERRNO(syscall(SYS_mq_notify, queue, &event), EBADF);
    int pair[2];
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
    event.sigev_signo = pair[0];
    CHECK_ERRNO(syscall(SYS_mq_notify, queue, &event), EINVAL);
    event.sigev_value.sival_ptr = (void *)8;
    CHECK_ERRNO(syscall(SYS_mq_notify, queue, &event), EFAULT);
    // The socket goes first.
    event.sigev_signo = socket_fd;
    event.sigev_value.sival_ptr = cookie;
    expect(queue, "x", 0);
    CHECK_EQUAL(syscall(SYS_mq_notify, queue, &event), 0);
    CHECK_EQUAL(close(socket_fd), 0);
    put(queue, "y", 0);
    close(pair[0]);
    close(pair[1]);
    done(queue);
}
