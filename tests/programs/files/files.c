// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Files and directories in the working directory, or in the directory given first: `files [-C DIR]
// [PART...]`.

#define _GNU_SOURCE
#include "../common/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

static int create(const char *path, int flags) {
    int file = open(path, O_CREAT | flags, 0640);
    CHECK(file >= 0);
    return file;
}

static void write_text(const char *path, const char *text) {
    int file = create(path, O_WRONLY | O_TRUNC);
    CHECK_EQUAL(write(file, text, strlen(text)), strlen(text));
    CHECK_EQUAL(close(file), 0);
}

static void expect_text(const char *path, const char *text) {
    char buffer[200];
    int file = open(path, O_RDONLY);
    CHECK(file >= 0);
    ssize_t length = read(file, buffer, sizeof buffer);
    CHECK_EQUAL(length, strlen(text));
    CHECK_EQUAL(memcmp(buffer, text, strlen(text)), 0);
    CHECK_EQUAL(close(file), 0);
}

static void part_create(void) {
    umask(022);
    int file = create("a.tmp", O_RDWR | O_EXCL);
    struct stat status;
    CHECK_EQUAL(fstat(file, &status), 0);
    CHECK(S_ISREG(status.st_mode));
    CHECK_EQUAL(status.st_mode & 0777, 0640);
    CHECK_EQUAL(status.st_size, 0);
    CHECK_EQUAL(status.st_nlink, 1);
    CHECK_ERRNO(open("a.tmp", O_CREAT | O_EXCL | O_RDWR, 0600), EEXIST);
    CHECK_EQUAL(write(file, "hello", 5), 5);
    CHECK_EQUAL(close(file), 0);
    expect_text("a.tmp", "hello");
    CHECK_ERRNO(write(file, "x", 1), EBADF);
    CHECK_ERRNO(close(file), EBADF);
    CHECK_ERRNO(open("none.tmp", O_RDONLY), ENOENT);
    CHECK_ERRNO(open("a.tmp/below", O_RDONLY), ENOTDIR);
    CHECK_ERRNO(open("no-dir/file", O_CREAT | O_RDWR, 0600), ENOENT);
    CHECK_ERRNO(open("", O_RDONLY), ENOENT);
    CHECK_ERRNO(open(".", O_RDWR), EISDIR);
    CHECK_ERRNO(open("a.tmp", O_RDONLY | O_DIRECTORY), ENOTDIR);
    file = open("a.tmp", O_RDONLY);
    CHECK_ERRNO(write(file, "x", 1), EBADF);
    CHECK_EQUAL(close(file), 0);
    file = open("a.tmp", O_WRONLY | O_TRUNC);
    char byte;
    CHECK_ERRNO(read(file, &byte, 1), EBADF);
    CHECK_EQUAL(fstat(file, &status), 0);
    CHECK_EQUAL(status.st_size, 0);
    CHECK_EQUAL(close(file), 0);
    CHECK_EQUAL(unlink("a.tmp"), 0);
    CHECK_ERRNO(unlink("a.tmp"), ENOENT);
    char name[300];
    memset(name, 'n', sizeof name);
    name[255] = '\0';
    write_text(name, "long");
    CHECK_EQUAL(unlink(name), 0);
    name[255] = 'n';
    name[256] = '\0';
    CHECK_ERRNO(open(name, O_CREAT | O_RDWR, 0600), ENAMETOOLONG);
}

static void part_append(void) {
    write_text("log.tmp", "one\n");
    int first = open("log.tmp", O_WRONLY | O_APPEND);
    int second = open("log.tmp", O_WRONLY | O_APPEND);
    CHECK(first >= 0 && second >= 0);
    CHECK_EQUAL(write(first, "two\n", 4), 4);
    CHECK_EQUAL(write(second, "three\n", 6), 6);
    CHECK_EQUAL(lseek(first, 0, SEEK_SET), 0);
    CHECK_EQUAL(write(first, "four\n", 5), 5);
    CHECK_EQUAL(close(first), 0);
    CHECK_EQUAL(close(second), 0);
    expect_text("log.tmp", "one\ntwo\nthree\nfour\n");
    CHECK_EQUAL(unlink("log.tmp"), 0);
}

static void part_seek(void) {
    int file = create("seek.tmp", O_RDWR | O_TRUNC);
    CHECK_EQUAL(write(file, "0123456789", 10), 10);
    CHECK_EQUAL(lseek(file, 3, SEEK_SET), 3);
    CHECK_EQUAL(lseek(file, 2, SEEK_CUR), 5);
    char byte;
    CHECK_EQUAL(read(file, &byte, 1), 1);
    CHECK_EQUAL(byte, '5');
    CHECK_EQUAL(lseek(file, -1, SEEK_END), 9);
    CHECK_ERRNO(lseek(file, -1, SEEK_SET), EINVAL);
    CHECK_ERRNO(lseek(file, 0, 99), EINVAL);
    // A gap reads as zeros.
    CHECK_EQUAL(pwrite(file, "end", 3, 100000), 3);
    CHECK_EQUAL(pread(file, &byte, 1, 50000), 1);
    CHECK_EQUAL(byte, 0);
    CHECK_EQUAL(lseek(file, 0, SEEK_END), 100003);
    CHECK_EQUAL(read(file, &byte, 1), 0);
    CHECK_EQUAL(ftruncate(file, 4), 0);
    CHECK_EQUAL(lseek(file, 0, SEEK_END), 4);
    CHECK_EQUAL(ftruncate(file, 8), 0);
    char buffer[16];
    CHECK_EQUAL(pread(file, buffer, 16, 0), 8);
    CHECK_EQUAL(memcmp(buffer, "0123\0\0\0\0", 8), 0);
    CHECK_EQUAL(close(file), 0);
    CHECK_EQUAL(truncate("seek.tmp", 2), 0);
    expect_text("seek.tmp", "01");
    CHECK_EQUAL(unlink("seek.tmp"), 0);

    struct iovec pieces[3] = {{"ab", 2}, {"", 0}, {"cde", 3}};
    file = create("vector.tmp", O_RDWR | O_TRUNC);
    CHECK_EQUAL(writev(file, pieces, 3), 5);
    char left[2];
    char right[8];
    struct iovec targets[2] = {{left, 2}, {right, 8}};
    CHECK_EQUAL(lseek(file, 0, SEEK_SET), 0);
    CHECK_EQUAL(readv(file, targets, 2), 5);
    CHECK(left[1] == 'b' && right[2] == 'e');
    CHECK_EQUAL(close(file), 0);
    CHECK_EQUAL(unlink("vector.tmp"), 0);
}

static void part_rename(void) {
    write_text("old.tmp", "old");
    write_text("new.tmp", "new");
    CHECK_EQUAL(rename("old.tmp", "new.tmp"), 0);
    expect_text("new.tmp", "old");
    CHECK_ERRNO(access("old.tmp", F_OK), ENOENT);
    CHECK_ERRNO(rename("old.tmp", "other.tmp"), ENOENT);
    CHECK_EQUAL(mkdir("dir.tmp", 0755), 0);
    CHECK_EQUAL(rename("new.tmp", "dir.tmp/inside"), 0);
    expect_text("dir.tmp/inside", "old");
    write_text("third.tmp", "third");
    CHECK_ERRNO(rename("third.tmp", "dir.tmp"), EISDIR);
    CHECK_ERRNO(rename("dir.tmp", "third.tmp"), ENOTDIR);
    CHECK_ERRNO(rename("dir.tmp/inside", "dir.tmp"), ENOTEMPTY);
    CHECK_ERRNO(rename("dir.tmp", "dir.tmp/below"), EINVAL);
    CHECK_EQUAL(unlink("third.tmp"), 0);
    CHECK_EQUAL(rename("dir.tmp", "dir2.tmp"), 0);
    expect_text("dir2.tmp/inside", "old");
    CHECK_ERRNO(rmdir("dir2.tmp"), ENOTEMPTY);
    CHECK_ERRNO(mkdir("dir2.tmp", 0755), EEXIST);
    CHECK_EQUAL(unlink("dir2.tmp/inside"), 0);
    CHECK_ERRNO(unlink("dir2.tmp"), EISDIR);
    CHECK_EQUAL(rmdir("dir2.tmp"), 0);
    CHECK_ERRNO(rmdir("dir2.tmp"), ENOENT);
}

// A file without a name lives until its last descriptor is closed.
static void part_unlinked(void) {
    int file = create("gone.tmp", O_RDWR | O_TRUNC);
    CHECK_EQUAL(write(file, "still here", 10), 10);
    CHECK_EQUAL(unlink("gone.tmp"), 0);
    CHECK_ERRNO(access("gone.tmp", F_OK), ENOENT);
    char buffer[16];
    CHECK_EQUAL(pread(file, buffer, 16, 0), 10);
    CHECK_EQUAL(pwrite(file, "!", 1, 10), 1);
    struct stat status;
    CHECK_EQUAL(fstat(file, &status), 0);
    CHECK_EQUAL(status.st_size, 11);
    CHECK_EQUAL(close(file), 0);
}

static void part_links(void) {
    char buffer[100];
    write_text("target.tmp", "target");
    CHECK_EQUAL(symlink("target.tmp", "link.tmp"), 0);
    expect_text("link.tmp", "target");
    CHECK_EQUAL(readlink("link.tmp", buffer, sizeof buffer), 10);
    CHECK_EQUAL(memcmp(buffer, "target.tmp", 10), 0);
    CHECK_EQUAL(readlink("link.tmp", buffer, 4), 4);
    CHECK_ERRNO(readlink("target.tmp", buffer, sizeof buffer), EINVAL);
    struct stat status;
    CHECK_EQUAL(lstat("link.tmp", &status), 0);
    CHECK(S_ISLNK(status.st_mode));
    CHECK_EQUAL(stat("link.tmp", &status), 0);
    CHECK(S_ISREG(status.st_mode));
    CHECK_ERRNO(open("link.tmp", O_RDONLY | O_NOFOLLOW), ELOOP);
    CHECK_EQUAL(symlink("loop-b.tmp", "loop-a.tmp"), 0);
    CHECK_EQUAL(symlink("loop-a.tmp", "loop-b.tmp"), 0);
    CHECK_ERRNO(open("loop-a.tmp", O_RDONLY), ELOOP);
    CHECK_EQUAL(unlink("target.tmp"), 0);
    CHECK_ERRNO(open("link.tmp", O_RDONLY), ENOENT);
    CHECK_EQUAL(unlink("link.tmp"), 0);
    CHECK_EQUAL(unlink("loop-a.tmp"), 0);
    CHECK_EQUAL(unlink("loop-b.tmp"), 0);
}

static void part_stat(void) {
    struct stat one;
    struct stat two;
    write_text("stat.tmp", "12345");
    CHECK_EQUAL(stat("stat.tmp", &one), 0);
    CHECK_EQUAL(stat("./stat.tmp", &two), 0);
    CHECK_EQUAL(one.st_ino, two.st_ino);
    CHECK_EQUAL(one.st_dev, two.st_dev);
    CHECK_EQUAL(one.st_size, 5);
    CHECK_EQUAL(one.st_uid, getuid());
    CHECK(one.st_blksize >= 512);
    CHECK(one.st_mtim.tv_sec > 1500000000);
    CHECK_EQUAL(chmod("stat.tmp", 0604), 0);
    CHECK_EQUAL(stat("stat.tmp", &one), 0);
    CHECK_EQUAL(one.st_mode & 0777, 0604);
    struct timespec times[2] = {{1000000000, 0}, {1234567890, 0}};
    CHECK_EQUAL(utimensat(AT_FDCWD, "stat.tmp", times, 0), 0);
    CHECK_EQUAL(stat("stat.tmp", &one), 0);
    CHECK_EQUAL(one.st_mtim.tv_sec, 1234567890);
    CHECK_EQUAL(access("stat.tmp", R_OK | W_OK), 0);
    CHECK_EQUAL(stat(".", &one), 0);
    CHECK(S_ISDIR(one.st_mode));
    CHECK_EQUAL(stat("/dev/null", &one), 0);
    CHECK(S_ISCHR(one.st_mode));
    struct statfs system;
    CHECK_EQUAL(statfs(".", &system), 0);
    CHECK(system.f_bsize > 0 && system.f_blocks > 0);
    CHECK_EQUAL(unlink("stat.tmp"), 0);
}

static void part_descriptors(void) {
    int file = create("dup.tmp", O_RDWR | O_TRUNC);
    int copy = dup(file);
    CHECK(copy > file);
    CHECK_EQUAL(write(file, "abc", 3), 3);
    // Copies share the offset.
    CHECK_EQUAL(lseek(copy, 0, SEEK_CUR), 3);
    CHECK_EQUAL(dup2(file, 50), 50);
    CHECK_EQUAL(fcntl(50, F_GETFD), 0);
    CHECK_EQUAL(fcntl(50, F_SETFD, FD_CLOEXEC), 0);
    CHECK_EQUAL(fcntl(50, F_GETFD), FD_CLOEXEC);
    CHECK_EQUAL(fcntl(file, F_GETFD), 0);
    int high = fcntl(file, F_DUPFD_CLOEXEC, 60);
    CHECK_EQUAL(high, 60);
    CHECK_EQUAL(fcntl(file, F_GETFL) & O_ACCMODE, O_RDWR);
    CHECK_EQUAL(close(copy), 0);
    // The lowest free number is used next.
    CHECK_EQUAL(open("/dev/null", O_RDONLY), copy);
    CHECK_EQUAL(close(copy), 0);
    CHECK_EQUAL(close(50), 0);
    CHECK_EQUAL(close(60), 0);
    CHECK_EQUAL(close(file), 0);
    CHECK_EQUAL(unlink("dup.tmp"), 0);
    CHECK_ERRNO(dup(file), EBADF);
    CHECK_ERRNO(dup2(0, -1), EBADF);
    char path[PATH_MAX];
    CHECK(getcwd(path, sizeof path) == path);
    CHECK(path[0] == '/');
    CHECK_EQUAL(mkdir("cwd.tmp", 0755), 0);
    CHECK_EQUAL(chdir("cwd.tmp"), 0);
    write_text("../from-below.tmp", "x");
    int above = open("..", O_RDONLY | O_DIRECTORY);
    CHECK(above >= 0);
    CHECK_EQUAL(fchdir(above), 0);
    CHECK_EQUAL(unlinkat(above, "from-below.tmp", 0), 0);
    CHECK_EQUAL(unlinkat(above, "cwd.tmp", AT_REMOVEDIR), 0);
    CHECK_EQUAL(close(above), 0);
    char again[PATH_MAX];
    CHECK(getcwd(again, sizeof again) == again);
    CHECK_EQUAL(strcmp(path, again), 0);
}

// Without a free descriptor no file is made, and none is cut short.
static void part_no_descriptor(void) {
    write_text("full.tmp", "kept");
    struct rlimit limit;
    CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const struct rlimit none = {0, limit.rlim_max};
    CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &none), 0);
    CHECK_ERRNO(open("full.tmp", O_WRONLY | O_TRUNC), EMFILE);
    CHECK_ERRNO(open("fresh.tmp", O_WRONLY | O_CREAT, 0600), EMFILE);
    CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
    expect_text("full.tmp", "kept");
    CHECK_ERRNO(access("fresh.tmp", F_OK), ENOENT);
    CHECK_EQUAL(unlink("full.tmp"), 0);
}

static void part_refused(void) {
    // Root of Linux may open anything, so only a system that shows the files read-only can refuse; either way
    // nothing is created outside the working directory by this program.
    CHECK_ERRNO(mkdir("/proc/hadal-test", 0755), ENOENT);
    CHECK_ERRNO(open("/proc/self/exe/none", O_RDONLY), ENOTDIR);
    CHECK_ERRNO(rmdir("."), EINVAL);
    CHECK_ERRNO(ioctl(0, 0x5401 + 0x7000, NULL), ENOTTY);
    CHECK_ERRNO(ftruncate(0, -1), EINVAL);
    int null = open("/dev/null", O_RDWR);
    CHECK(null >= 0);
    char buffer[10];
    CHECK_EQUAL(write(null, buffer, 10), 10);
    CHECK_EQUAL(read(null, buffer, 10), 0);
    CHECK_EQUAL(close(null), 0);
}

static const struct part parts[] = {
    {"create", part_create},   {"append", part_append},           {"seek", part_seek},
    {"rename", part_rename},   {"unlinked", part_unlinked},       {"links", part_links},
    {"stat", part_stat},       {"descriptors", part_descriptors}, {"no-descriptor", part_no_descriptor},
    {"refused", part_refused},
};

int main(int argc, char **argv) {
    const char *directory = NULL;
    if (argc > 2 && strcmp(argv[1], "-C") == 0) {
        directory = argv[2];
        CHECK_EQUAL(mkdir(directory, 0755), 0);
        CHECK_EQUAL(chdir(directory), 0);
        argv[2] = argv[0];
        argc -= 2;
        argv += 2;
    }
    int status = run_parts(parts, sizeof parts / sizeof parts[0], argc, argv);
    if (directory != NULL) {
        // Every part removes what it made.
        CHECK_EQUAL(chdir("/"), 0);
        CHECK_EQUAL(rmdir(directory), 0);
    }
    return status;
}
