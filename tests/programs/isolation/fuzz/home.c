// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a worker finds at its start: a directory, and an open file of every kind.
#define _GNU_SOURCE
#include "fuzz.h"

#include "../../common/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

// A worker may have taken the directory's permissions away.
void remove_all(const char *path) {
    struct stat info;
    if (lstat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        chmod(path, 0700);
        DIR *directory = opendir(path);
        for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
            char inner[512];
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) < (int)sizeof inner) {
                remove_all(inner);
            }
        }
        if (directory != NULL) {
            closedir(directory);
        }
    }
    remove(path);
}

// The directory of a worker, as each finds it.
void make_home(const char *home) {
    remove_all(home);
    mkdir(home, 0700);
    CHECK_EQUAL(chdir(home), 0);
    mkdir("e", 0700);
    CHECK_EQUAL(symlink("e", "f") | symlink("a", "link") | symlink("loop", "loop"), 0);
}

// One of every kind of file, at the numbers that arguments have.
void open_files(void) {
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++) {
        dup2(null, i);
    }
    syscall(SYS_close_range, 3, ~0u, 0);
    int pairs[2];
    for (int i = 0; i < 2; i++) {
        int file = open(i == 0 ? "a" : "e/b", O_CREAT | O_RDWR, 0600);
        CHECK_EQUAL(ftruncate(file, 3 * PAGE + 100), 0);
        CHECK_EQUAL(pipe(pairs), 0);
    }
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM | SOCK_NONBLOCK, SOCK_SEQPACKET | SOCK_NONBLOCK};
    for (int i = 0; i < 3; i++) {
        socketpair(AF_UNIX, types[i], 0, pairs);
    }
    // Some that have neither a name nor another end.
    static const int lone[] = {SOCK_STREAM | SOCK_NONBLOCK, SOCK_STREAM | SOCK_NONBLOCK, SOCK_STREAM,
                               SOCK_DGRAM | SOCK_NONBLOCK, SOCK_SEQPACKET | SOCK_NONBLOCK};
    for (int i = 0; i < 5; i++) {
        CHECK_EQUAL(socket(AF_UNIX, lone[i], 0), FIRST_SOCKET + 6 + i);
    }
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    open(".", O_RDONLY | O_DIRECTORY);
    eventfd(1, 0);
    timerfd_create(CLOCK_MONOTONIC, 0);
    syscall(SYS_signalfd4, -1, &set, 8, 0);
    epoll_create1(0);
    syscall(SYS_memfd_create, "fuzz", 0);
    CHECK_EQUAL(posix_openpt(O_RDWR | O_NOCTTY), TERMINALS_AT);
    unlockpt(TERMINALS_AT);
    CHECK_EQUAL(open(ptsname(TERMINALS_AT), O_RDWR | O_NOCTTY), TERMINALS_AT + 1);
    struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = 64};
    mq_open("/fuzz.a", O_CREAT | O_RDWR, 0600, &attributes);
    syscall(SYS_pidfd_open, getpid(), 0);
    CHECK_EQUAL(open("/dev/zero", O_RDWR), ZERO_AT);
}
