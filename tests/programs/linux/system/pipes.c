// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Pipes, and the calls that wait for descriptors.

#define _GNU_SOURCE
#include "set.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>

static int ends[2];

static void *write_after_a_while(void *argument) {
    (void)argument;
    usleep(30000);
    CHECK_EQUAL(write(ends[1], "data", 4), 4);
    return NULL;
}

/* Permissions, owner and times of what has no name. Some shells use pairs of sockets as pipes, and set their
 * modes. */
static void change_attributes(int file) {
    struct stat now;
    CHECK_EQUAL(fchmod(file, 0200), 0);
    CHECK(fstat(file, &now) == 0 && (now.st_mode & 07777) == 0200);
    CHECK_EQUAL(fchown(file, now.st_uid, now.st_gid), 0);
    struct timespec times[2] = {{.tv_sec = 7}, {.tv_nsec = UTIME_OMIT}};
    CHECK_EQUAL(futimens(file, times), 0);
    CHECK(fstat(file, &now) == 0 && now.st_atim.tv_sec == 7 && now.st_mtim.tv_sec != 7);
    CHECK_EQUAL(close(file), 0);
}

static void attributes(void) {
    CHECK_EQUAL(pipe(ends), 0);
    change_attributes(ends[0]);
    change_attributes(ends[1]);
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    change_attributes(ends[0]);
    change_attributes(ends[1]);
}

void part_pipes(void) {
    attributes();
    char buffer[65536];
    CHECK_EQUAL(pipe2(ends, O_CLOEXEC), 0);
    struct pollfd poll_ends[3] = {
        {.fd = ends[0], .events = POLLIN}, {.fd = ends[1], .events = POLLOUT}, {.fd = -1, .events = POLLIN}};
    CHECK_EQUAL(poll(poll_ends, 3, 0), 1);
    CHECK_EQUAL(poll_ends[1].revents, POLLOUT);
    CHECK_EQUAL(poll(poll_ends, 1, 20), 0);
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, write_after_a_while, NULL), 0);
    CHECK_EQUAL(poll(poll_ends, 1, -1), 1);
    CHECK_EQUAL(poll_ends[0].revents, POLLIN);
    int available = 0;
    CHECK_EQUAL(ioctl(ends[0], FIONREAD, &available), 0);
    CHECK_EQUAL(available, 4);
    fd_set reads;
    FD_ZERO(&reads);
    FD_SET(ends[0], &reads);
    struct timeval moment = {1, 0};
    CHECK_EQUAL(select(ends[0] + 1, &reads, NULL, NULL, &moment), 1);
    CHECK(FD_ISSET(ends[0], &reads));
    CHECK_EQUAL(read(ends[0], buffer, sizeof buffer), 4);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    // A full pipe refuses when it must not wait, and gives everything back in order.
    CHECK_EQUAL(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    CHECK_EQUAL(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    long written = 0;
    long got;
    memset(buffer, 'q', sizeof buffer);
    while ((got = write(ends[1], buffer, 1000)) > 0) {
        written += got;
    }
    CHECK_EQUAL(errno, EAGAIN);
    CHECK(written >= 4096);
    long drained = 0;
    while ((got = read(ends[0], buffer, sizeof buffer)) > 0) {
        drained += got;
    }
    CHECK_EQUAL(errno, EAGAIN);
    CHECK_EQUAL(drained, written);
    CHECK_EQUAL(close(ends[1]), 0);
    CHECK_EQUAL(read(ends[0], buffer, 1), 0);
    CHECK_EQUAL(poll(poll_ends, 1, 0), 1);
    CHECK(poll_ends[0].revents & POLLHUP);
    CHECK_EQUAL(close(ends[0]), 0);
    CHECK_EQUAL(poll(poll_ends, 1, 0), 1);
    CHECK_EQUAL(poll_ends[0].revents, POLLNVAL);
    CHECK_ERRNO(lseek(ends[0], 0, SEEK_CUR), EBADF);
}
