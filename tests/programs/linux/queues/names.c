// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Names, sizes, rights and limits.
#define _GNU_SOURCE
#include "queues.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

void names(void) {
    CHECK_ERRNO(mq_open(name, O_RDWR), ENOENT);
    CHECK_ERRNO(mq_unlink(name), ENOENT);
    mqd_t queue = make(O_RDWR, 3, 100);
    CHECK_ERRNO(mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, NULL), EEXIST);
    struct mq_attr found, ignored = {.mq_maxmsg = 7, .mq_msgsize = 7};
    mqd_t second = mq_open(name, O_RDONLY | O_CREAT | O_NONBLOCK, 0600, &ignored);
    CHECK(second >= 0);
    CHECK_EQUAL(mq_getattr(second, &found), 0);
    CHECK_EQUAL(found.mq_flags, O_NONBLOCK);
    CHECK_EQUAL(found.mq_maxmsg, 3);
    CHECK_EQUAL(found.mq_msgsize, 100);
    CHECK_EQUAL(found.mq_curmsgs, 0);
    CHECK_EQUAL(mq_getattr(queue, &found), 0);
    CHECK_EQUAL(found.mq_flags, 0);
    put(queue, "kept", 1);
    CHECK_EQUAL(mq_unlink(name), 0);
    CHECK_ERRNO(mq_open(name, O_RDWR), ENOENT);
    expect(second, "kept", 1);
    mqd_t fresh = make(O_RDWR, 1, 1);
    CHECK_EQUAL(mq_getattr(queue, &found), 0);
    CHECK_EQUAL(found.mq_maxmsg, 3);
    CHECK_EQUAL(mq_close(queue), 0);
    CHECK_EQUAL(mq_close(second), 0);
    CHECK_ERRNO(mq_close(second), EBADF);
    done(fresh);

    // The calls themselves, without what the C library does to names.
    CHECK_ERRNO(syscall(SYS_mq_open, "", O_RDWR | O_CREAT, 0600, NULL), ENOENT);
    CHECK_ERRNO(syscall(SYS_mq_open, "a/b", O_RDWR | O_CREAT, 0600, NULL), EACCES);
    CHECK_ERRNO(syscall(SYS_mq_open, "/a", O_RDWR | O_CREAT, 0600, NULL), EACCES);
    CHECK_ERRNO(syscall(SYS_mq_open, ".", O_RDWR | O_CREAT, 0600, NULL), EACCES);
    CHECK_ERRNO(syscall(SYS_mq_open, "..", O_RDWR, 0600, NULL), EACCES);
    CHECK_ERRNO(syscall(SYS_mq_unlink, ""), ENOENT);
    CHECK_ERRNO(syscall(SYS_mq_unlink, "a/b"), EACCES);
    char longest[300];
    memset(longest, 'q', sizeof longest);
    longest[256] = 0;
    CHECK_ERRNO(syscall(SYS_mq_open, longest, O_RDWR | O_CREAT, 0600, NULL), ENAMETOOLONG);
    CHECK_ERRNO(syscall(SYS_mq_open, (char *)8, O_RDWR | O_CREAT, 0600, NULL), EFAULT);
    CHECK_ERRNO(syscall(SYS_mq_open, name + 1, O_RDWR, 0600, (void *)8), EFAULT);
    longest[255] = 0;
    long full = syscall(SYS_mq_open, longest, O_RDWR | O_CREAT, 0600, NULL);
    CHECK(full >= 0);
    CHECK_EQUAL(mq_getattr((mqd_t)full, &found), 0);
    CHECK_EQUAL(found.mq_maxmsg, 10);
    CHECK_EQUAL(found.mq_msgsize, 8192);
    CHECK_ERRNO(syscall(SYS_mq_open, longest, O_ACCMODE, 0600, NULL), EINVAL);
    CHECK_EQUAL(syscall(SYS_mq_unlink, longest), 0);
    close((int)full);
}

void attributes(void) {
    struct mq_attr bad[] = {
        {.mq_maxmsg = 0, .mq_msgsize = 1},     {.mq_maxmsg = 1, .mq_msgsize = 0},
        {.mq_maxmsg = -1, .mq_msgsize = 1},    {.mq_maxmsg = 1, .mq_msgsize = -1},
        {.mq_maxmsg = 65537, .mq_msgsize = 1}, {.mq_maxmsg = 1, .mq_msgsize = (16 << 20) + 1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_ERRNO(mq_open(name, O_RDWR | O_CREAT, 0600, &bad[i]), EINVAL);
    }
    // The superuser may have more, unless a container has taken that right away.
    struct mq_attr more[] = {{.mq_maxmsg = 11, .mq_msgsize = 1}, {.mq_maxmsg = 1, .mq_msgsize = 8193}};
    for (size_t i = 0; i < 2; i++) {
        mqd_t large = mq_open(name, O_RDWR | O_CREAT, 0600, &more[i]);
        CHECK(large >= 0 ? geteuid() == 0 : errno == EINVAL);
        if (large >= 0) {
            done(large);
        }
    }
    mqd_t queue = make(O_RDWR, 2, 8);
    struct mq_attr new = {.mq_flags = O_NONBLOCK, .mq_maxmsg = 99, .mq_msgsize = 99}, old;
    CHECK_EQUAL(mq_setattr(queue, &new, &old), 0);
    CHECK_EQUAL(old.mq_flags, 0);
    CHECK_EQUAL(old.mq_maxmsg, 2);
    CHECK(fcntl(queue, F_GETFL) & O_NONBLOCK);
    new.mq_flags = O_NONBLOCK | O_APPEND;
    CHECK_ERRNO(mq_setattr(queue, &new, &old), EINVAL);
    CHECK_ERRNO(mq_setattr(-1, &new, &old), EINVAL);
    new.mq_flags = 0;
    CHECK_ERRNO(mq_setattr(-1, &new, &old), EBADF);
    CHECK_ERRNO(mq_getattr(0, &old), EBADF);
    put(queue, "one", 0);
    CHECK_EQUAL(mq_setattr(queue, &new, &old), 0);
    CHECK_EQUAL(old.mq_flags, O_NONBLOCK);
    CHECK_EQUAL(old.mq_curmsgs, 1);
    CHECK(!(fcntl(queue, F_GETFL) & O_NONBLOCK));
    CHECK_ERRNO(syscall(SYS_mq_getsetattr, queue, (void *)8, NULL), EFAULT);
    CHECK_ERRNO(syscall(SYS_mq_getsetattr, queue, NULL, (void *)8), EFAULT);
    done(queue);
}

void files(void) {
    mode_t umask_before = umask(027);
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT, 0666, NULL);
    CHECK(queue >= 0);
    struct stat state;
    CHECK_EQUAL(fstat(queue, &state), 0);
    CHECK_EQUAL(state.st_mode, S_IFREG | 0640);
    CHECK_EQUAL(state.st_size, 80);
    CHECK_EQUAL(state.st_uid, geteuid());
    CHECK_EQUAL(fchmod(queue, 0400), 0);
    CHECK_EQUAL(fstat(queue, &state), 0);
    CHECK_EQUAL(state.st_mode, S_IFREG | 0400);
    if (geteuid() != 0) {
        CHECK_ERRNO(mq_open(name, O_RDWR), EACCES);
    }
    umask(umask_before);
    struct statfs system;
    CHECK_EQUAL(fstatfs(queue, &system), 0);
    CHECK_EQUAL(system.f_type, 0x19800202);
    put(queue, "12345", 0);
    put(queue, "123", 0);
    char text[100] = {0}, link[100] = {0}, path[64];
    CHECK_EQUAL(read(queue, text, sizeof text), strlen(text));
    CHECK(strcmp(text, "QSIZE:8          NOTIFY:0     SIGNO:0     NOTIFY_PID:0     \n") == 0);
    CHECK_EQUAL(read(queue, text, sizeof text), 0);
    CHECK_ERRNO(write(queue, "x", 1), EINVAL);
    snprintf(path, sizeof path, "/proc/self/fd/%d", queue);
    CHECK(readlink(path, link, sizeof link) > 0);
    CHECK(strcmp(link, name) == 0);
    CHECK_EQUAL(mq_unlink(name), 0);
    CHECK_EQUAL(fstat(queue, &state), 0);
    CHECK_EQUAL(state.st_nlink, 0);
    CHECK_EQUAL(mq_close(queue), 0);
    // No waiting for a wait that nobody ends: a queue made with no rights is still its maker's.
    queue = mq_open(name, O_RDWR | O_CREAT, 0, NULL);
    CHECK(queue >= 0);
    put(queue, "x", 0);
    done(queue);
}

void limits(void) {
    struct rlimit limit, before;
    CHECK_EQUAL(getrlimit(RLIMIT_MSGQUEUE, &before), 0);
    CHECK_EQUAL(before.rlim_cur, 819200);
    limit = before;
    // Two queues of a message of 100 bytes each, with what a message and a priority count for.
    limit.rlim_cur = 2 * (100 + 48 + 48);
    CHECK_EQUAL(setrlimit(RLIMIT_MSGQUEUE, &limit), 0);
    mqd_t first = make(O_RDWR, 1, 100);
    struct mq_attr size = {.mq_maxmsg = 1, .mq_msgsize = 101};
    CHECK_ERRNO(mq_open(other, O_RDWR | O_CREAT, 0600, &size), EMFILE);
    size.mq_msgsize = 100;
    mqd_t second = mq_open(other, O_RDWR | O_CREAT, 0600, &size);
    CHECK(second >= 0);
    // A queue without a name counts until it is closed.
    CHECK_EQUAL(mq_unlink(other), 0);
    CHECK_ERRNO(mq_open(other, O_RDWR | O_CREAT, 0600, &size), EMFILE);
    CHECK_EQUAL(mq_close(second), 0);
    second = mq_open(other, O_RDWR | O_CREAT, 0600, &size);
    CHECK(second >= 0);
    CHECK_EQUAL(mq_close(second), 0);
    CHECK_EQUAL(mq_unlink(other), 0);
    done(first);
    CHECK_EQUAL(setrlimit(RLIMIT_MSGQUEUE, &before), 0);
    // No descriptor, no queue.
    struct rlimit files, none;
    CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &files), 0);
    none = files;
    none.rlim_cur = 0;
    CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &none), 0);
    CHECK_ERRNO(mq_open(other, O_RDWR | O_CREAT, 0600, &size), EMFILE);
    CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &files), 0);
    CHECK_ERRNO(mq_unlink(other), ENOENT);
    static const struct {
        const char *name;
        long value;
    } settings[] = {{"queues_max", 256},
                    {"msg_max", 10},
                    {"msgsize_max", 8192},
                    {"msg_default", 10},
                    {"msgsize_default", 8192}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/sys/fs/mqueue/%s", settings[i].name);
        FILE *file = fopen(path, "r");
        long value = 0;
        CHECK(file != NULL && fscanf(file, "%ld", &value) == 1);
        fclose(file);
        CHECK_EQUAL(value, settings[i].value);
    }
}
