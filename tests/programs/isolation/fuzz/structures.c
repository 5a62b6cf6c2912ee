// SPDX-License-Identifier: Apache-2.0 OR MIT
// What arguments point to. Each is made in the stage, a ring of bytes of the thread, in the layout of the
// calls.
#define _GNU_SOURCE
#include "fuzz.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

void *stage(struct worker *worker, size_t bytes) {
    bytes = (bytes + 15) & ~(size_t)15;
    if (worker->staged + bytes > STAGE_BYTES) {
        worker->staged = 0;
    }
    uint8_t *found = worker->stage + worker->staged;
    worker->staged += bytes;
    return found;
}

// The words of a new structure.
static uint64_t words(struct worker *worker, size_t count, const enum kind *kinds) {
    uint64_t *made = stage(worker, count * sizeof *made);
    for (size_t i = 0; i < count; i++) {
        // The stage is not read back: what a word points to may have been made behind it, or before.
        uint64_t word = value(worker, kinds[i]);
        made[i] = word;
    }
    return (uint64_t)made;
}
#define WORDS(...)                                                                                           \
    words(worker, sizeof((enum kind[]){__VA_ARGS__}) / sizeof(enum kind), (const enum kind[]){__VA_ARGS__})

static uint64_t text(struct worker *worker, const char *content) {
    size_t length = 0;
    while (content[length] != 0) {
        length++;
    }
    char *made = stage(worker, length + 1);
    for (size_t i = 0; i <= length; i++) {
        made[i] = content[i];
    }
    return (uint64_t)made;
}

const char *path(struct worker *worker) {
    // The first ones are files of the worker's directory, by which it is to stay.
    static const char *const paths[] = {
        "a",
        "b",
        "c",
        "d",
        "e/a",
        "e/b",
        "e",
        "f",
        "link",
        "f/../a",
        "./e/./a",
        "e/",
        "a/b",
        "loop",
        "",
        ".",
        "e/../e/../b",
        "f/a",
        "/proc/self/maps",
        "/dev/null",
        "/dev/zero",
        "/dev/ptmx",
        "/dev/urandom",
        "/proc/self/stat",
        "/proc/self/fd",
        "/dev/full",
        "/proc/meminfo",
        "/proc/self/fd/3",
        "/proc/self/status",
        "/proc/self/fdinfo/4",
        "/proc/self/task",
        "/dev/pts",
    };
    return paths[below(worker, once_in(worker, 3) ? COUNT(paths) : 13)];
}

static uint64_t vectors(struct worker *worker) {
    uint64_t *made = stage(worker, 8 * 2 * sizeof *made);
    for (int i = 0; i < 8; i++) {
        made[2 * i] = value(worker, BUFFER);
        made[2 * i + 1] = value(worker, LENGTH);
    }
    return (uint64_t)made;
}

// Descriptors to be sent, or a header that lies about its length.
static uint64_t control(struct worker *worker) {
    struct cmsghdr *made = stage(worker, 64);
    made->cmsg_len = once_in(worker, 8) ? value(worker, LENGTH) : CMSG_LEN(2 * sizeof(int));
    made->cmsg_level = SOL_SOCKET;
    made->cmsg_type = 1 + (int)below(worker, 2);
    ((int *)CMSG_DATA(made))[0] = (int)value(worker, DESCRIPTOR);
    ((int *)CMSG_DATA(made))[1] = (int)value(worker, DESCRIPTOR);
    return (uint64_t)made;
}

static void message(struct worker *worker, struct msghdr *made) {
    made->msg_name = (void *)(once_in(worker, 8) ? value(worker, SOCKET_ADDRESS) : 0);
    made->msg_namelen = (uint32_t)below(worker, 120);
    made->msg_iov = (void *)value(worker, VECTORS);
    made->msg_iovlen = once_in(worker, 16) ? value(worker, LENGTH) : below(worker, 4);
    made->msg_control = (void *)(once_in(worker, 2) ? control(worker) : 0);
    made->msg_controllen = once_in(worker, 4) ? value(worker, LENGTH) : CMSG_SPACE(2 * sizeof(int));
    made->msg_flags = 0;
}

static uint64_t messages(struct worker *worker) {
    struct mmsghdr *made = stage(worker, 4 * sizeof *made);
    for (int i = 0; i < 4; i++) {
        message(worker, &made[i].msg_hdr);
    }
    return (uint64_t)made;
}

static uint64_t socket_address(struct worker *worker) {
    uint8_t *made = stage(worker, 128);
    for (int i = 0; i < 128; i++) {
        made[i] = 0;
    }
    made[0] = (uint8_t)value(worker, DOMAIN);
    // Sockets by name: one of the directory, one without a place there.
    made[2] = once_in(worker, 2) ? 's' : 0;
    made[3] = (uint8_t)('a' + below(worker, 3));
    return (uint64_t)made;
}

// Seconds and their fraction: mostly none and little, so that waits end.
static void moment(struct worker *worker, int64_t *made, uint64_t fraction) {
    made[0] = once_in(worker, 24) ? (int64_t)wild(worker) : 0;
    made[1] = once_in(worker, 24) ? (int64_t)wild(worker) : (int64_t)below(worker, fraction);
}

static uint64_t moments(struct worker *worker, int count, uint64_t fraction) {
    int64_t *made = stage(worker, (size_t)count * 2 * sizeof *made);
    for (int i = 0; i < count; i++) {
        moment(worker, made + 2 * i, fraction);
    }
    return (uint64_t)made;
}

static uint64_t polled(struct worker *worker) {
    struct pollfd *made = stage(worker, 16 * sizeof *made);
    for (int i = 0; i < 16; i++) {
        made[i].fd = (int)value(worker, DESCRIPTOR);
        made[i].events = (short)next(worker);
        made[i].revents = 0;
    }
    return (uint64_t)made;
}

uint64_t bits(struct worker *worker, int count) {
    uint64_t *made = stage(worker, (size_t)count * sizeof *made);
    for (int i = 0; i < count; i++) {
        made[i] = next(worker) & next(worker) & next(worker);
    }
    return (uint64_t)made;
}

static uint64_t strings(struct worker *worker) {
    uint64_t *made = stage(worker, 4 * sizeof *made);
    made[0] = once_in(worker, 16) ? wild(worker) : text(worker, "fuzz");
    // What a worker becomes is this program, which then ends.
    made[1] = text(worker, "end");
    made[2] = once_in(worker, 16) ? wild(worker) : 0;
    made[3] = 0;
    return (uint64_t)made;
}

// The head, and an entry that follows itself or leads nowhere.
static uint64_t robust_list(struct worker *worker) {
    uint64_t *made = stage(worker, 8 * sizeof *made);
    uint64_t entry = (uint64_t)(made + 4);
    made[0] = once_in(worker, 3) ? (uint64_t)made : once_in(worker, 3) ? wild(worker) : entry;
    made[1] = once_in(worker, 3) ? wild(worker) : (uint64_t)-8;
    made[2] = once_in(worker, 3) ? wild(worker) : 0;
    made[4] = once_in(worker, 2) ? entry : once_in(worker, 2) ? wild(worker) : (uint64_t)made;
    return (uint64_t)made;
}

static uint64_t clone_arguments(struct worker *worker) {
    uint64_t *made = stage(worker, 11 * sizeof *made);
    uint64_t flags = choice(worker, CLONE_FLAGS);
    made[0] = once_in(worker, 8) ? flags : flags & ~0xffull;
    made[1] = value(worker, BUFFER);
    made[2] = value(worker, BUFFER);
    made[3] = value(worker, BUFFER);
    made[4] = once_in(worker, 8) ? value(worker, SIGNAL) : flags & 0xff;
    made[5] = once_in(worker, 2) ? 0 : (uint64_t)clone_stack();
    made[6] = made[5] == 0 ? 0 : SPARE_BYTES;
    made[7] = 0;
    made[8] = once_in(worker, 8) ? value(worker, BUFFER) : 0;
    made[9] = made[8] == 0 ? 0 : below(worker, 3);
    made[10] = 0;
    return (uint64_t)made;
}

static uint64_t how(struct worker *worker) {
    uint64_t *made = stage(worker, 4 * sizeof *made);
    made[0] = choice(worker, OPEN_FLAGS);
    made[1] = once_in(worker, 2) ? 0 : 0644;
    made[2] = once_in(worker, 2) ? 0 : 1ull << below(worker, 7);
    made[3] = 0;
    return (uint64_t)made;
}

static uint64_t of_time(struct worker *worker, enum kind kind) {
    switch (kind) {
    case TIME:
        return moments(worker, 1, 3000000);
    case TIMES:
        return moments(worker, 2, 1000000000);
    case INTERVALS:
        return moments(worker, 2, 5000000);
    default:
        return moments(worker, 2, 5000);
    }
}

// Of semaphores: small numbers, small changes, and each flag now and then.
static uint64_t operations(struct worker *worker) {
    uint16_t *made = stage(worker, 3 * 10 * sizeof *made);
    for (size_t i = 0; i < 10; i++) {
        made[3 * i] = (uint16_t)below(worker, once_in(worker, 8) ? 20 : 3);
        made[3 * i + 1] = (uint16_t)(below(worker, 5) - 2);
        made[3 * i + 2] = (uint16_t)((once_in(worker, 2) ? 04000 : 0) | (once_in(worker, 2) ? 010000 : 0));
    }
    return (uint64_t)made;
}

static uint64_t of_files(struct worker *worker, enum kind kind) {
    static const char *const queues[] = {"/fuzz.a", "/fuzz.b", "/fuzz/c", "fuzz", "/"};
    switch (kind) {
    case TEXT:
        return text(worker, once_in(worker, 2) ? "user.fuzz" : "fuzz");
    case PATH:
        return text(worker, path(worker));
    case PROGRAM:
        return text(worker, once_in(worker, 2) ? "/proc/self/exe" : path(worker));
    case STRINGS:
        return strings(worker);
    case QUEUE_NAME:
        return text(worker, queues[below(worker, COUNT(queues))]);
    case SETS:
        return bits(worker, 16);
    case POLLED:
        return polled(worker);
    case EPOLL_EVENT:
        return WORDS(ANY, ANY);
    case OPEN_HOW:
        return how(worker);
    case QUEUE_ATTRIBUTES:
        return WORDS(DESCRIPTOR_FLAGS, SMALL, LENGTH, SMALL);
    case OPERATIONS:
        return operations(worker);
    default:
        return 0;
    }
}

uint64_t structure(struct worker *worker, enum kind kind) {
    uint64_t *made;
    switch (kind) {
    case VECTORS:
        return vectors(worker);
    case MESSAGE:
        made = stage(worker, sizeof(struct msghdr));
        message(worker, (struct msghdr *)made);
        return (uint64_t)made;
    case MESSAGES:
        return messages(worker);
    case SOCKET_ADDRESS:
        return socket_address(worker);
    case SOCKET_LENGTH:
    case POSITION:
        return WORDS(OFFSET, OFFSET);
    case LIMIT:
        return WORDS(LENGTH, LENGTH);
    case TIME:
    case TIMES:
    case INTERVALS:
    case MICROSECONDS:
        return of_time(worker, kind);
    case SIGNAL_SET:
    case MASK_AND_SIZE:
    case SIGNAL_ACTION:
    case SIGNAL_STACK:
    case SIGNAL_INFO:
    case SIGNAL_EVENT:
        return of_signals(worker, kind);
    case CLONE_ARGUMENTS:
        return clone_arguments(worker);
    case CAPABILITIES:
        made = stage(worker, 2 * sizeof *made);
        made[0] = once_in(worker, 4) ? next(worker) : 0x20080522;
        return (uint64_t)made;
    case CPUS:
        return bits(worker, 2);
    case NUMBERS:
        return WORDS(PAGES, PAGES, SMALL, SMALL);
    case ROBUST_LIST:
        return robust_list(worker);
    default:
        return of_files(worker, kind);
    }
}
