// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// User and group ids: what may become what, in all threads, and whose rights count.

#define _GNU_SOURCE
#include "set.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

enum { OTHER = 1234 };

static int turn;

// C libraries change the ids of all threads; this one is busy meanwhile.
static void *sees_the_same(void *unused) {
    __atomic_store_n(&turn, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != 2) {
        usleep(1000);
    }
    CHECK_EQUAL(geteuid(), OTHER);
    return unused;
}

static void has_no_rights(const char *name) {
    CHECK_ERRNO(open(name, O_RDONLY), EACCES);
    CHECK_EQUAL(access(name, R_OK), 0);
    CHECK_ERRNO(faccessat(AT_FDCWD, name, R_OK, AT_EACCESS), EACCES);
    CHECK_ERRNO(chmod(name, 0644), EPERM);
    CHECK_ERRNO(unlink(name), EACCES);
}

static void as_superuser(void) {
    uid_t ids[3];
    pthread_t thread;
    int file = open("ids.txt", O_CREAT | O_TRUNC | O_WRONLY, 0600);
    CHECK(file >= 0);
    CHECK_EQUAL(mkdir("ids", 0700), 0);
    CHECK_EQUAL(pthread_create(&thread, NULL, sees_the_same, NULL), 0);
    while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != 1) {
        usleep(1000);
    }
    CHECK_EQUAL(seteuid(OTHER), 0);
    __atomic_store_n(&turn, 2, __ATOMIC_RELEASE);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    CHECK_EQUAL(getresuid(&ids[0], &ids[1], &ids[2]), 0);
    CHECK(ids[0] == 0 && ids[1] == OTHER && ids[2] == 0);
    has_no_rights("ids.txt");
    CHECK_ERRNO(open("ids/new", O_CREAT | O_WRONLY, 0600), EACCES);
    CHECK_ERRNO(open("new", O_CREAT | O_WRONLY, 0600), EACCES);
    CHECK_ERRNO(setgid(OTHER), EPERM);
    CHECK_EQUAL(seteuid(0), 0);
    CHECK_EQUAL(setegid(OTHER), 0);
    CHECK(getgid() == 0 && getegid() == OTHER);
    CHECK_EQUAL(setegid(0), 0);
    CHECK_EQUAL(close(file), 0);
    CHECK_EQUAL(rmdir("ids"), 0);
    CHECK_EQUAL(unlink("ids.txt"), 0);

    // For good.
    CHECK_EQUAL(setuid(OTHER), 0);
    CHECK_EQUAL(getuid(), OTHER);
    CHECK_ERRNO(setuid(0), EPERM);
}

void part_ids(void) {
    if (geteuid() == 0) {
        as_superuser();
        return;
    }
    CHECK_ERRNO(setuid(0), EPERM);
    CHECK_ERRNO(seteuid(0), EPERM);
    CHECK_EQUAL(setuid(getuid()), 0);
    CHECK_EQUAL(setreuid((uid_t)-1, getuid()), 0);
}
