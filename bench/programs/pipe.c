// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Pipes and their like: the same source in every place. What one thread writes and reads itself shows the
// path of the calls; two threads that send a byte to and fro show the wake-ups as well.

#include "bench.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { READ = 0, WRITE = 1, PAGE_BYTES = 4096 };

static char buffer[PAGE_BYTES];

static void close_pair(const int ends[2]) {
    BENCH_EXPECT(close(ends[READ]), 0);
    BENCH_EXPECT(close(ends[WRITE]), 0);
}

/* --- one thread ----------------------------------------------------------------------------------------- */

static void through(const char *name, const int ends[2], ssize_t bytes) {
    BENCH_TIME(200, 2000, {
        BENCH_EXPECT(write(ends[WRITE], buffer, (size_t)bytes), bytes);
        BENCH_EXPECT(read(ends[READ], buffer, (size_t)bytes), bytes);
    });
    close_pair(ends);
    bench_report(name);
}

static void through_pipe(const char *name, ssize_t bytes) {
    int ends[2];
    BENCH_EXPECT(pipe(ends), 0);
    through(name, ends, bytes);
}

static void byte_figure(const char *name) { through_pipe(name, 1); }
static void page_figure(const char *name) { through_pipe(name, PAGE_BYTES); }

static void socket_pair(const char *name) {
    int ends[2];
    BENCH_EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    through(name, ends, 1);
}

static void eventfd_figure(const char *name) {
    uint64_t count = 1;
    int counter = eventfd(0, 0);
    BENCH_EXPECT(counter >= 0, true);
    BENCH_TIME(200, 2000, {
        BENCH_EXPECT(write(counter, &count, sizeof count), (ssize_t)sizeof count);
        BENCH_EXPECT(read(counter, &count, sizeof count), (ssize_t)sizeof count);
    });
    BENCH_EXPECT(close(counter), 0);
    bench_report(name);
}

/* Nothing is ready, and the call does not wait. */
static void poll_figure(const char *name) {
    int ends[2];
    BENCH_EXPECT(pipe(ends), 0);
    struct pollfd file = {.fd = ends[READ], .events = POLLIN};
    BENCH_TIME(200, 2000, BENCH_EXPECT(poll(&file, 1, 0), 0));
    close_pair(ends);
    bench_report(name);
}

/* One of eight files is ready. */
static void epoll(const char *name) {
    enum { FILES = 8 };
    int counters[FILES];
    int set = epoll_create1(0);
    for (int i = 0; i < FILES; i++) {
        counters[i] = eventfd(i == 0, 0);
        struct epoll_event event = {.events = EPOLLIN};
        BENCH_EXPECT(epoll_ctl(set, EPOLL_CTL_ADD, counters[i], &event), 0);
    }
    struct epoll_event ready[FILES];
    BENCH_TIME(200, 2000, BENCH_EXPECT(epoll_wait(set, ready, FILES, 0), 1));
    for (int i = 0; i < FILES; i++) {
        BENCH_EXPECT(close(counters[i]), 0);
    }
    BENCH_EXPECT(close(set), 0);
    bench_report(name);
}

static void writev_figure(const char *name) {
    struct iovec parts[] = {{buffer, 10}, {buffer + 10, 20}};
    int null = open("/dev/null", O_WRONLY);
    BENCH_TIME(200, 2000, BENCH_EXPECT(writev(null, parts, 2), 30));
    BENCH_EXPECT(close(null), 0);
    bench_report(name);
}

/* --- two threads ---------------------------------------------------------------------------------------- */

struct echo {
    int there[2];
    int back[2];
};

/* Ends with the pipe. */
static void *echo_main(void *arg) {
    struct echo *echo = arg;
    char byte;
    bench_pin(bench_other_cpu());
    while (read(echo->there[READ], &byte, 1) == 1) {
        BENCH_EXPECT(write(echo->back[WRITE], &byte, 1), 1);
    }
    return NULL;
}

/* A byte there and another one back. */
static void ping_pong(const char *name) {
    struct echo echo;
    pthread_t thread;
    char byte = 0;
    BENCH_EXPECT(pipe(echo.there), 0);
    BENCH_EXPECT(pipe(echo.back), 0);
    BENCH_CHECK(pthread_create(&thread, NULL, echo_main, &echo));
    BENCH_TIME(200, 2000, {
        BENCH_EXPECT(write(echo.there[WRITE], &byte, 1), 1);
        BENCH_EXPECT(read(echo.back[READ], &byte, 1), 1);
    });
    BENCH_EXPECT(close(echo.there[WRITE]), 0);
    BENCH_CHECK(pthread_join(thread, NULL));
    BENCH_EXPECT(close(echo.there[READ]), 0);
    close_pair(echo.back);
    bench_report(name);
}

static const struct bench_figure figures[] = {
    {"pipe.byte", byte_figure},          {"pipe.page", page_figure},    {"pipe.socketpair", socket_pair},
    {"pipe.eventfd", eventfd_figure},    {"pipe.poll", poll_figure},    {"pipe.epoll", epoll},
    {"pipe.writev_null", writev_figure}, {"pipe.ping_pong", ping_pong},
};

BENCH_MAIN(figures)
