// SPDX-License-Identifier: Apache-2.0 OR MIT
// Record locks of processes that share their files: they are those of all of them.
#include "parts.h"

static struct flock bytes(short kind, off_t start, off_t len) {
    return (struct flock){.l_type = kind, .l_whence = SEEK_SET, .l_start = start, .l_len = len};
}

static int set(int fd, short kind, off_t start, off_t len) {
    struct flock lock = bytes(kind, start, len);
    return fcntl(fd, F_SETLK, &lock);
}

// Who keeps another process from having all bytes, or 0.
static pid_t owner_of(int fd) {
    pid_t child = fork();
    if (child == 0) {
        struct flock lock = bytes(F_WRLCK, 0, 0);
        CHECK(fcntl(fd, F_GETLK, &lock) == 0);
        atomic_store(step, lock.l_type == F_UNLCK ? 0 : lock.l_pid);
        _exit(0);
    }
    CHECK_EQUAL(exit_of(child), 0);
    return atomic_load(step);
}

void locks(void) {
    char name[] = "/tmp/sharing-XXXXXX";
    int fd = mkstemp(name);
    CHECK(fd >= 0 && unlink(name) == 0);
    CHECK(set(fd, F_WRLCK, 0, 100) == 0);
    pid_t child = fork_with(CLONE_FILES);
    if (child == 0) {
        // Not in the way of who shares the files.
        struct flock lock = bytes(F_WRLCK, 0, 0);
        CHECK(fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK);
        CHECK(set(fd, F_UNLCK, 0, 50) == 0 && set(fd, F_WRLCK, 200, 10) == 0);
        _exit(0);
    }
    CHECK_EQUAL(exit_of(child), 0);
    // It has ended, and what it has locked stays locked.
    CHECK_EQUAL(owner_of(fd), getpid());
    CHECK(set(fd, F_UNLCK, 0, 100) == 0);
    CHECK_EQUAL(owner_of(fd), child);
    // A lock that grows is the first one's.
    CHECK(set(fd, F_WRLCK, 210, 10) == 0);
    CHECK_EQUAL(owner_of(fd), child);
    CHECK(set(fd, F_WRLCK, 190, 20) == 0);
    CHECK_EQUAL(owner_of(fd), child);
    CHECK(set(fd, F_RDLCK, 190, 30) == 0);
    CHECK_EQUAL(owner_of(fd), getpid());
    CHECK(set(fd, F_UNLCK, 0, 0) == 0 && set(fd, F_WRLCK, 0, 10) == 0);
    CHECK_EQUAL(owner_of(fd), getpid());
    // Who has files of his own is another owner, with the locks left behind.
    child = fork_with(CLONE_FILES);
    if (child == 0) {
        CHECK(unshare(CLONE_FILES) == 0);
        CHECK_ERRNO(set(fd, F_WRLCK, 0, 1), EAGAIN);
        CHECK(set(fd, F_WRLCK, 10, 10) == 0 && close(fd) == 0);
        _exit(0);
    }
    CHECK_EQUAL(exit_of(child), 0);
    CHECK_EQUAL(owner_of(fd), getpid());
    CHECK(set(fd, F_WRLCK, 10, 10) == 0);
    child = fork_with(CLONE_FILES);
    if (child == 0) {
        // The descriptor is marked for the new program only.
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        become("nothing");
    }
    CHECK_EQUAL(exit_of(child), 0);
    CHECK_EQUAL(owner_of(fd), getpid());
    // Any descriptor of the file that any of them closes ends the locks.
    child = fork_with(CLONE_FILES);
    if (child == 0) {
        _exit(close(dup(fd)) == 0 ? 0 : 1);
    }
    CHECK_EQUAL(exit_of(child), 0);
    CHECK_EQUAL(owner_of(fd), 0);
    // They wait for each other no more than threads do.
    CHECK(set(fd, F_WRLCK, 0, 10) == 0);
    reach(0);
    child = fork_with(CLONE_FILES);
    if (child == 0) {
        struct flock lock = bytes(F_WRLCK, 5, 10);
        _exit(fcntl(fd, F_SETLKW, &lock) == 0 ? 0 : 1);
    }
    CHECK_EQUAL(exit_of(child), 0);
    CHECK(close(fd) == 0);
}
