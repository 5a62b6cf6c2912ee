// SPDX-License-Identifier: Apache-2.0 OR MIT
// The parts of the set about sockets that have names (unix(7)). Every line is what Linux prints.
#ifndef HADAL_TEST_NAMED_SOCKETS_PARTS_H
#define HADAL_TEST_NAMED_SOCKETS_PARTS_H

// Before any header.
#define _GNU_SOURCE
#include "../../common/check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static inline const char *name(long result) { return result >= 0 ? "ok" : strerror(errno); }

// An address and its length.
struct place {
    struct sockaddr_un address;
    socklen_t len;
};

static inline struct place at_path(const char *path) {
    struct place place = {{.sun_family = AF_UNIX}, 0};
    strcpy(place.address.sun_path, path);
    place.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) + 1);
    return place;
}

// The first process of the run.
extern pid_t run;

// A name in no file system, different in every run.
static inline struct place at_name(const char *text) {
    struct place place = {{.sun_family = AF_UNIX}, 0};
    int len = sprintf(place.address.sun_path + 1, "hadal-%d-%s", run, text);
    place.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
    return place;
}

static inline int bind_to(int fd, const struct place *place) {
    return bind(fd, (const struct sockaddr *)&place->address, place->len);
}

static inline int connect_to(int fd, const struct place *place) {
    return connect(fd, (const struct sockaddr *)&place->address, place->len);
}

static inline int new_socket(int type) {
    int fd = socket(AF_UNIX, type, 0);
    CHECK(fd >= 0);
    return fd;
}

static inline int listen_at(int type, const struct place *place, int backlog) {
    int fd = new_socket(type);
    CHECK_EQUAL(bind_to(fd, place), 0);
    CHECK_EQUAL(listen(fd, backlog), 0);
    return fd;
}

static inline short polled(int fd) {
    struct pollfd entry = {.fd = fd, .events = POLLIN | POLLOUT | POLLRDHUP};
    poll(&entry, 1, 0);
    return entry.revents;
}

void names(void);
void connections(void);
void datagrams(void);
void senders(void);
void crowds(void);

#endif
