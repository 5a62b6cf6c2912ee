// SPDX-License-Identifier: Apache-2.0 OR MIT
// Descriptors until none is left, and what is behind them.
#define _GNU_SOURCE
#include "exhaust.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

// For descriptors, and for the memory behind them.
static const int REFUSALS[] = {EMFILE, ENFILE, ENOMEM, ENOBUFS, 0};

// With what goes into each, these take more than a small machine has.
enum { MOST_PIPES = 500, MOST_PAIRS = 1000 };

static char block[64 << 10];

static void allow_most(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void close_all(void) { close_range(3, ~0U, 0); }

size_t use_up_dup(void) {
    allow_most();
    size_t count = 0;
    while (dup(0) >= 0) {
        count++;
    }
    expect_refusal("dup", REFUSALS);
    close_all();
    return count;
}

// The highest number first, then others far from each other.
size_t use_up_dup2(void) {
    allow_most();
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    size_t count = 0;
    for (long fd = (long)limit.rlim_cur - 1; fd > 2; fd -= 100) {
        if (dup2(0, (int)fd) < 0) {
            expect_refusal("dup2", REFUSALS);
            break;
        }
        count++;
    }
    close_all();
    return count;
}

// As much data as goes in without waiting.
static size_t stuff(int fd) {
    size_t bytes = 0;
    ssize_t count;
    while ((count = write(fd, block, sizeof block)) > 0) {
        bytes += (size_t)count;
    }
    static const int full[] = {EAGAIN, ENOMEM, ENOBUFS, 0};
    expect_refusal("write", full);
    return bytes;
}

size_t use_up_pipes(void) {
    allow_most();
    size_t count = 0;
    int ends[2];
    while (count < MOST_PIPES * scale && pipe2(ends, O_NONBLOCK) == 0) {
        static const int refusals[] = {EPERM, ENOMEM, 0};
        if (fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) < 0) {
            expect_refusal("F_SETPIPE_SZ", refusals);
        }
        stuff(ends[1]);
        count++;
    }
    if (count < MOST_PIPES * scale) {
        expect_refusal("pipe", REFUSALS);
    }
    close_all();
    return count;
}

size_t use_up_sockets(void) {
    allow_most();
    size_t count = 0;
    int ends[2];
    while (count < MOST_PAIRS * scale && socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0) {
        stuff(ends[0]);
        stuff(ends[1]);
        count++;
    }
    if (count < MOST_PAIRS * scale) {
        expect_refusal("socketpair", REFUSALS);
    }
    close_all();
    return count;
}

size_t use_up_memfds(void) {
    allow_most();
    size_t count = 0;
    int fd;
    while (count < 3000 && (fd = memfd_create("some", 0)) >= 0) {
        if (write(fd, block, sizeof block) < 0) {
            static const int refusals[] = {ENOSPC, ENOMEM, 0};
            expect_refusal("write to a memfd", refusals);
        }
        count++;
    }
    if (count < 3000) {
        expect_refusal("memfd_create", REFUSALS);
    }
    close_all();
    return count;
}

size_t use_up_eventfds(void) {
    allow_most();
    size_t count = 0;
    while (count < 200000 && eventfd(0, 0) >= 0) {
        count++;
    }
    if (count < 200000) {
        expect_refusal("eventfd", REFUSALS);
    }
    close_all();
    return count;
}

// One call about very many descriptors.
size_t use_up_poll(void) {
    allow_most();
    const nfds_t most = 1 << 20;
    size_t count = 0;
    for (nfds_t some = 1024; some <= most; some *= 2, count++) {
        struct pollfd *list = mmap(NULL, some * sizeof *list, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (list == MAP_FAILED || poll(list, some, 0) < 0) {
            static const int refusals[] = {ENOMEM, EFAULT, EINVAL, 0};
            expect_refusal("poll", refusals);
            break;
        }
        munmap(list, some * sizeof *list);
    }
    return count;
}
