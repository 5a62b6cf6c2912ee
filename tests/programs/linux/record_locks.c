// SPDX-License-Identifier: Apache-2.0 OR MIT
// Record locks of several processes and of open files: who excludes whom, what
// ends a lock, waiting, and waiting for ever.
#define _GNU_SOURCE
#include "../common/check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static const char PATH[] = "locked-file";

static int open_file(void) {
    int fd = open(PATH, O_RDWR | O_CREAT, 0644);
    CHECK(fd >= 0);
    return fd;
}

static int set(int fd, int command, short kind, short whence, off_t start, off_t len) {
    struct flock lock = {.l_type = kind, .l_whence = whence, .l_start = start, .l_len = len};
    return fcntl(fd, command, &lock);
}

static int try_lock(int fd, short kind, off_t start, off_t len) {
    return set(fd, F_SETLK, kind, SEEK_SET, start, len);
}

static pid_t begin_child(void) {
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    return child;
}

static void expect_exit(pid_t child) {
    int status;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// Runs a part in a child, with a descriptor of its own.
#define IN_CHILD(part)                                                                                       \
    do {                                                                                                     \
        pid_t child_of_part = begin_child();                                                                 \
        if (child_of_part == 0) {                                                                            \
            int fd = open_file();                                                                            \
            part;                                                                                            \
            close(fd);                                                                                       \
            _exit(0);                                                                                        \
        }                                                                                                    \
        expect_exit(child_of_part);                                                                          \
    } while (0)

static void expect_holder(int fd, short wanted, off_t start, off_t len, pid_t pid, short kind, off_t first,
                          off_t size) {
    struct flock lock = {.l_type = wanted, .l_whence = SEEK_SET, .l_start = start, .l_len = len};
    CHECK_EQUAL(fcntl(fd, F_GETLK, &lock), 0);
    CHECK_EQUAL(lock.l_type, kind);
    if (kind != F_UNLCK) {
        CHECK_EQUAL(lock.l_pid, pid);
        CHECK_EQUAL(lock.l_whence, SEEK_SET);
        CHECK_EQUAL(lock.l_start, first);
        CHECK_EQUAL(lock.l_len, size);
    }
}

static void excluding(void) {
    int own = open_file();
    pid_t parent = getpid();
    CHECK_EQUAL(ftruncate(own, 1000), 0);
    CHECK_EQUAL(try_lock(own, F_WRLCK, 10, 10), 0);
    CHECK_EQUAL(try_lock(own, F_RDLCK, 100, 0), 0);
    IN_CHILD({
        CHECK_ERRNO(try_lock(fd, F_RDLCK, 0, 11), EAGAIN);
        CHECK_ERRNO(try_lock(fd, F_WRLCK, 200, 1), EAGAIN);
        CHECK_EQUAL(try_lock(fd, F_RDLCK, 200, 1), 0);
        CHECK_EQUAL(try_lock(fd, F_WRLCK, 0, 10), 0);
        CHECK_EQUAL(try_lock(fd, F_WRLCK, 20, 80), 0);
        expect_holder(fd, F_RDLCK, 0, 0, parent, F_WRLCK, 10, 10);
        expect_holder(fd, F_WRLCK, 150, 5, parent, F_RDLCK, 100, 0);
        expect_holder(fd, F_RDLCK, 150, 5, parent, F_UNLCK, 0, 0);
        CHECK_ERRNO(set(fd, F_SETLK, F_WRLCK, SEEK_END, -1, 1), EAGAIN);
        CHECK_ERRNO(set(fd, F_SETLK, F_WRLCK, SEEK_SET, -1, 1), EINVAL);
        CHECK_ERRNO(set(fd, F_SETLK, 9, SEEK_SET, 0, 1), EINVAL);
        CHECK_ERRNO(set(fd, F_SETLK, F_WRLCK, 7, 0, 1), EINVAL);
        lseek(fd, 15, SEEK_SET);
        CHECK_ERRNO(set(fd, F_SETLK, F_WRLCK, SEEK_CUR, 0, 1), EAGAIN);
        CHECK_ERRNO(set(fd, F_SETLK, F_RDLCK, SEEK_CUR, 6, -2), EAGAIN);
        CHECK_EQUAL(set(fd, F_SETLK, F_RDLCK, SEEK_CUR, 6, -1), 0);
    });
    // A part is given up, and a stronger lock becomes a weaker one.
    CHECK_EQUAL(try_lock(own, F_UNLCK, 12, 2), 0);
    CHECK_EQUAL(try_lock(own, F_RDLCK, 16, 2), 0);
    IN_CHILD({
        CHECK_EQUAL(try_lock(fd, F_WRLCK, 12, 2), 0);
        CHECK_EQUAL(try_lock(fd, F_RDLCK, 16, 2), 0);
        CHECK_ERRNO(try_lock(fd, F_WRLCK, 16, 2), EAGAIN);
        expect_holder(fd, F_RDLCK, 0, 100, parent, F_WRLCK, 10, 2);
        expect_holder(fd, F_RDLCK, 14, 100, parent, F_WRLCK, 14, 2);
    });
    // Closing any descriptor of the file ends all locks, but not one that only
    // names it.
    close(open(PATH, O_PATH));
    IN_CHILD(CHECK_ERRNO(try_lock(fd, F_WRLCK, 16, 2), EAGAIN));
    close(dup(own));
    IN_CHILD(CHECK_EQUAL(try_lock(fd, F_WRLCK, 0, 0), 0));
    int readable = open(PATH, O_RDONLY);
    CHECK_ERRNO(try_lock(readable, F_WRLCK, 0, 1), EBADF);
    CHECK_EQUAL(try_lock(readable, F_RDLCK, 0, 1), 0);
    close(readable);
    close(own);
}

static void ends(void) {
    int gate[2], own = open_file();
    CHECK_EQUAL(pipe(gate), 0);
    for (int how = 0; how < 4; how++) {
        pid_t child = begin_child();
        if (child == 0) {
            int fd = open_file();
            CHECK_EQUAL(fcntl(fd, F_SETFD, how == 3 ? FD_CLOEXEC : 0), 0);
            CHECK_EQUAL(try_lock(fd, F_WRLCK, 0, 0), 0);
            CHECK_EQUAL(write(gate[1], "x", 1), 1);
            struct timespec moment = {.tv_nsec = 50000000};
            nanosleep(&moment, NULL);
            switch (how) {
            case 0:
                _exit(0);
            case 1:
                raise(SIGKILL);
                break;
            case 2:
                CHECK_EQUAL(close_range((unsigned)fd, (unsigned)fd, 0), 0);
                break;
            default:
                execl("/bin/sleep", "sleep", "0.3", NULL);
            }
            pause();
        }
        char byte;
        CHECK_EQUAL(read(gate[0], &byte, 1), 1);
        CHECK_ERRNO(try_lock(own, F_RDLCK, 5, 1), EAGAIN);
        // Waits until the other one has ended, or has closed the file.
        CHECK_EQUAL(set(own, F_SETLKW, F_WRLCK, SEEK_SET, 5, 1), 0);
        CHECK_EQUAL(try_lock(own, F_UNLCK, 0, 0), 0);
        kill(child, SIGKILL);
        CHECK_EQUAL(waitpid(child, NULL, 0), child);
    }
    close(gate[0]);
    close(gate[1]);
    close(own);
}

static void nothing(int signal) { (void)signal; }

static void waiting(void) {
    int own = open_file(), gate[2];
    CHECK_EQUAL(pipe(gate), 0);
    CHECK_EQUAL(try_lock(own, F_WRLCK, 0, 1), 0);
    pid_t child = begin_child();
    if (child == 0) {
        int fd = open_file();
        CHECK_EQUAL(try_lock(fd, F_WRLCK, 1, 1), 0);
        CHECK_EQUAL(write(gate[1], "x", 1), 1);
        int result = set(fd, F_SETLKW, F_WRLCK, SEEK_SET, 0, 1);
        CHECK(result == 0 || errno == EDEADLK);
        _exit(result == 0 ? 0 : 1);
    }
    char byte;
    CHECK_EQUAL(read(gate[0], &byte, 1), 1);
    // Whoever waits second is told that it would be for ever, and gives up.
    int result = set(own, F_SETLKW, F_WRLCK, SEEK_SET, 1, 1);
    CHECK(result == 0 || errno == EDEADLK);
    CHECK_EQUAL(try_lock(own, F_UNLCK, 0, 0), 0);
    int status;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 0) == (result != 0));
    // A signal ends a wait.
    CHECK_EQUAL(try_lock(own, F_WRLCK, 0, 1), 0);
    IN_CHILD({
        struct sigaction action = {.sa_handler = nothing};
        sigaction(SIGALRM, &action, NULL);
        alarm(1);
        CHECK_ERRNO(set(fd, F_SETLKW, F_RDLCK, SEEK_SET, 0, 1), EINTR);
    });
    close(gate[0]);
    close(gate[1]);
    close(own);
}

static int try_open_lock(int fd, short kind, off_t start, off_t len) {
    return set(fd, F_OFD_SETLK, kind, SEEK_SET, start, len);
}

// Locks of open files: who has the file open by the same call has them, and
// nobody else.
static void of_open_files(void) {
    int own = open_file(), other = open_file();
    CHECK_EQUAL(ftruncate(own, 1000), 0);
    CHECK_EQUAL(try_open_lock(own, F_WRLCK, 10, 10), 0);
    CHECK_ERRNO(try_open_lock(other, F_RDLCK, 0, 11), EAGAIN);
    CHECK_EQUAL(try_open_lock(other, F_WRLCK, 0, 10), 0);
    CHECK_EQUAL(try_open_lock(own, F_WRLCK, 15, 10), 0);
    // The process's own locks are others.
    CHECK_ERRNO(try_lock(own, F_RDLCK, 12, 1), EAGAIN);
    CHECK_EQUAL(try_lock(own, F_RDLCK, 100, 1), 0);
    CHECK_ERRNO(try_open_lock(own, F_WRLCK, 90, 20), EAGAIN);
    expect_holder(own, F_RDLCK, 0, 5, -1, F_WRLCK, 0, 10);
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 5, .l_len = 30};
    CHECK_EQUAL(fcntl(other, F_OFD_GETLK, &lock), 0);
    CHECK(lock.l_type == F_WRLCK && lock.l_pid == -1 && lock.l_start == 10 && lock.l_len == 15);
    lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 90};
    CHECK_EQUAL(fcntl(other, F_OFD_GETLK, &lock), 0);
    CHECK(lock.l_type == F_RDLCK && lock.l_pid == getpid() && lock.l_start == 100 && lock.l_len == 1);
    lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 10, .l_len = 15};
    CHECK_EQUAL(fcntl(own, F_OFD_GETLK, &lock), 0);
    CHECK_EQUAL(lock.l_type, F_UNLCK);
    lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_pid = 1};
    CHECK_ERRNO(fcntl(own, F_OFD_SETLK, &lock), EINVAL);
    CHECK_ERRNO(fcntl(own, F_OFD_SETLKW, &lock), EINVAL);
    CHECK_ERRNO(fcntl(own, F_OFD_GETLK, &lock), EINVAL);
    CHECK_ERRNO(try_open_lock(own, 9, 0, 1), EINVAL);
    int readable = open(PATH, O_RDONLY);
    CHECK_ERRNO(try_open_lock(readable, F_WRLCK, 500, 1), EBADF);
    CHECK_EQUAL(try_open_lock(readable, F_RDLCK, 500, 1), 0);
    CHECK_ERRNO(try_open_lock(own, F_WRLCK, 500, 1), EAGAIN);
    CHECK_EQUAL(close(readable), 0);
    CHECK_EQUAL(try_open_lock(own, F_WRLCK, 500, 1), 0);
    // A part is given up. Closing other descriptors ends nothing but the locks of
    // the process.
    CHECK_EQUAL(try_open_lock(own, F_UNLCK, 12, 2), 0);
    CHECK_EQUAL(try_open_lock(other, F_RDLCK, 12, 2), 0);
    CHECK_EQUAL(try_open_lock(other, F_UNLCK, 12, 2), 0);
    close(dup(own));
    close(open_file());
    IN_CHILD({
        CHECK_ERRNO(try_lock(fd, F_RDLCK, 10, 1), EAGAIN);
        CHECK_ERRNO(try_open_lock(fd, F_RDLCK, 24, 1), EAGAIN);
        CHECK_EQUAL(try_open_lock(fd, F_WRLCK, 100, 1), 0);
        // What is inherited is the same open file.
        CHECK_EQUAL(try_open_lock(own, F_RDLCK, 10, 1), 0);
        CHECK_EQUAL(try_open_lock(fd, F_RDLCK, 10, 1), 0);
    });
    IN_CHILD(CHECK_EQUAL(try_lock(fd, F_RDLCK, 10, 1), 0));
    close(own);
    CHECK_EQUAL(try_open_lock(other, F_WRLCK, 0, 0), 0);
    close(other);
}

// They end with the last descriptor, whoever has it.
static void end_of_open_files(void) {
    int gate[2], own = open_file();
    CHECK_EQUAL(pipe(gate), 0);
    for (int how = 0; how < 4; how++) {
        int shared = open_file();
        CHECK_EQUAL(fcntl(shared, F_SETFD, how == 3 ? FD_CLOEXEC : 0), 0);
        CHECK_EQUAL(try_open_lock(shared, F_WRLCK, 0, 0), 0);
        pid_t child = begin_child();
        if (child == 0) {
            CHECK_EQUAL(write(gate[1], "x", 1), 1);
            struct timespec moment = {.tv_nsec = 50000000};
            nanosleep(&moment, NULL);
            switch (how) {
            case 0:
                _exit(0);
            case 1:
                raise(SIGKILL);
                break;
            case 2:
                CHECK_EQUAL(dup2(gate[0], shared), shared);
                break;
            default:
                execl("/bin/sleep", "sleep", "0.3", NULL);
            }
            pause();
        }
        CHECK_EQUAL(close(shared), 0);
        char byte;
        CHECK_EQUAL(read(gate[0], &byte, 1), 1);
        CHECK_ERRNO(try_lock(own, F_RDLCK, 5, 1), EAGAIN);
        // One of each kind waits in turn.
        CHECK_EQUAL(set(own, how % 2 ? F_SETLKW : F_OFD_SETLKW, F_WRLCK, SEEK_SET, 5, 1), 0);
        CHECK_EQUAL(set(own, how % 2 ? F_SETLK : F_OFD_SETLK, F_UNLCK, SEEK_SET, 0, 0), 0);
        kill(child, SIGKILL);
        CHECK_EQUAL(waitpid(child, NULL, 0), child);
    }
    // Nobody is told that two wait for each other: a signal ends it.
    CHECK_EQUAL(try_open_lock(own, F_WRLCK, 0, 1), 0);
    pid_t child = begin_child();
    if (child == 0) {
        CHECK_EQUAL(close(own), 0);
        int fd = open_file();
        CHECK_EQUAL(try_open_lock(fd, F_WRLCK, 1, 1), 0);
        CHECK_EQUAL(write(gate[1], "x", 1), 1);
        CHECK_EQUAL(set(fd, F_OFD_SETLKW, F_WRLCK, SEEK_SET, 0, 1), 0);
        _exit(0);
    }
    char byte;
    CHECK_EQUAL(read(gate[0], &byte, 1), 1);
    struct sigaction action = {.sa_handler = nothing};
    sigaction(SIGALRM, &action, NULL);
    alarm(1);
    CHECK_ERRNO(set(own, F_OFD_SETLKW, F_RDLCK, SEEK_SET, 1, 1), EINTR);
    CHECK_EQUAL(close(own), 0);
    expect_exit(child);
    close(gate[0]);
    close(gate[1]);
}

int main(void) {
    excluding();
    ends();
    waiting();
    of_open_files();
    end_of_open_files();
    unlink(PATH);
    puts("ok");
    return 0;
}
