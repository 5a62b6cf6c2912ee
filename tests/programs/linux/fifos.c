// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Named pipes in memory: openings that wait for each other, the end of data,
// hang-ups, names that are used again, and lines of several writers.

#include "../common/check.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void part_attributes(void) {
    umask(022);
    CHECK_EQUAL(mkfifo("f", 0666), 0);
    CHECK_ERRNO(mkfifo("f", 0666), EEXIST);
    CHECK_ERRNO(mkfifo("none/f", 0666), ENOENT);
    struct stat status;
    CHECK_EQUAL(stat("f", &status), 0);
    CHECK_EQUAL(status.st_mode, S_IFIFO | 0644);
    CHECK_EQUAL(status.st_size, 0);
    CHECK_EQUAL(chmod("f", 0600), 0);
    CHECK_ERRNO(truncate("f", 0), EINVAL);
    CHECK_ERRNO(open("f", O_RDONLY | O_DIRECTORY), ENOTDIR);
    int fd = open("f", O_RDWR);
    CHECK(fd >= 0);
    CHECK_EQUAL(fstat(fd, &status), 0);
    CHECK_EQUAL(status.st_mode, S_IFIFO | 0600);
    CHECK_ERRNO(lseek(fd, 0, SEEK_CUR), ESPIPE);
    CHECK_EQUAL(write(fd, "text", 4), 4);
    int waiting = 0;
    CHECK_EQUAL(ioctl(fd, FIONREAD, &waiting), 0);
    CHECK_EQUAL(waiting, 4);
    CHECK_EQUAL(close(fd), 0);
    // What nobody has read goes with the last end.
    fd = open("f", O_RDWR | O_NONBLOCK | O_TRUNC);
    char buffer[8];
    CHECK_ERRNO(read(fd, buffer, 8), EAGAIN);
    CHECK_EQUAL(close(fd), 0);
    CHECK_EQUAL(rename("f", "g"), 0);
    CHECK_EQUAL(unlink("g"), 0);
}

static void part_without_waiting(void) {
    CHECK_EQUAL(mknod("f", S_IFIFO | 0600, 0), 0);
    CHECK_ERRNO(open("f", O_WRONLY | O_NONBLOCK), ENXIO);
    int reader = open("f", O_RDONLY | O_NONBLOCK);
    CHECK(reader >= 0);
    struct pollfd ready = {reader, POLLIN, 0};
    CHECK_EQUAL(poll(&ready, 1, 0), 0);
    char buffer[8];
    CHECK_EQUAL(read(reader, buffer, 8), 0);
    int writer = open("f", O_WRONLY | O_NONBLOCK);
    CHECK(writer >= 0);
    CHECK_ERRNO(read(reader, buffer, 8), EAGAIN);
    CHECK_EQUAL(write(writer, "abc", 3), 3);
    CHECK_EQUAL(close(writer), 0);
    CHECK_EQUAL(poll(&ready, 1, 0), 1);
    CHECK_EQUAL(ready.revents, POLLIN | POLLHUP);
    CHECK_EQUAL(read(reader, buffer, 8), 3);
    CHECK_EQUAL(read(reader, buffer, 8), 0);
    writer = open("f", O_WRONLY);
    CHECK_EQUAL(poll(&ready, 1, 0), 0);
    CHECK_EQUAL(close(reader), 0);
    signal(SIGPIPE, SIG_IGN);
    CHECK_ERRNO(write(writer, "x", 1), EPIPE);
    CHECK_EQUAL(close(writer), 0);
    CHECK_EQUAL(unlink("f"), 0);
}

// A name that is used again is another pipe.
static void part_again(void) {
    CHECK_EQUAL(mkfifo("f", 0600), 0);
    int first = open("f", O_RDWR | O_NONBLOCK);
    CHECK_EQUAL(unlink("f"), 0);
    usleep(20000);
    CHECK_EQUAL(mkfifo("f", 0600), 0);
    int second = open("f", O_RDWR | O_NONBLOCK);
    CHECK_EQUAL(write(first, "old", 3), 3);
    char buffer[8];
    CHECK_ERRNO(read(second, buffer, 8), EAGAIN);
    CHECK_EQUAL(link("f", "other"), 0);
    int third = open("other", O_RDONLY | O_NONBLOCK);
    CHECK_EQUAL(write(second, "new", 3), 3);
    CHECK_EQUAL(read(third, buffer, 8), 3);
    CHECK_EQUAL(close(first) | close(second) | close(third), 0);
    CHECK_EQUAL(unlink("f") | unlink("other"), 0);
}

static void part_waiting(void) {
    CHECK_EQUAL(mkfifo("f", 0600), 0);
    for (int round = 0; round < 100; round++) {
        pid_t child = fork();
        if (child == 0) {
            int writer = open("f", O_WRONLY);
            _exit(writer < 0 || write(writer, &round, sizeof round) != sizeof round);
        }
        int reader = open("f", O_RDONLY), got = -1, status;
        CHECK(reader >= 0);
        CHECK_EQUAL(read(reader, &got, sizeof got), (int)sizeof got);
        CHECK_EQUAL(got, round);
        CHECK_EQUAL(read(reader, &got, sizeof got), 0);
        CHECK_EQUAL(close(reader), 0);
        CHECK_EQUAL(waitpid(child, &status, 0), child);
        CHECK_EQUAL(status, 0);
    }
    CHECK_EQUAL(unlink("f"), 0);
}

static void nothing(int number) { (void)number; }

// One that waits in an opening is interrupted, or killed, and leaves no end behind.
static void part_interrupted(void) {
    CHECK_EQUAL(mkfifo("f", 0600), 0);
    const struct sigaction action = {.sa_handler = nothing};
    CHECK_EQUAL(sigaction(SIGALRM, &action, NULL), 0);
    for (int flags = O_RDONLY; flags <= O_WRONLY; flags++) {
        ualarm(50000, 0);
        CHECK_ERRNO(open("f", flags), EINTR);
        pid_t child = fork();
        if (child == 0) {
            open("f", flags);
            _exit(1);
        }
        usleep(50000);
        kill(child, SIGKILL);
        int status;
        CHECK_EQUAL(waitpid(child, &status, 0), child);
        CHECK(WIFSIGNALED(status));
    }
    CHECK_ERRNO(open("f", O_WRONLY | O_NONBLOCK), ENXIO);
    CHECK_EQUAL(unlink("f"), 0);
}

enum { WRITERS = 6, LINES = 300, LENGTH = 64 };

static void part_lines(void) {
    CHECK_EQUAL(mkfifo("f", 0600), 0);
    for (int writer = 0; writer < WRITERS; writer++) {
        if (fork() == 0) {
            int fd = open("f", O_WRONLY);
            char line[LENGTH];
            memset(line, 'a' + writer, sizeof line);
            for (int count = 0; count < LINES; count++) {
                if (write(fd, line, sizeof line) != sizeof line) {
                    _exit(1);
                }
            }
            _exit(0);
        }
    }
    // A writer of our own, so that the data has no end between two others.
    int fd = open("f", O_RDWR), counts[WRITERS] = {0}, status;
    FILE *stream = fdopen(fd, "r");
    char line[LENGTH];
    for (int whole = 0; whole < WRITERS * LINES; whole++) {
        CHECK_EQUAL(fread(line, 1, sizeof line, stream), sizeof line);
        for (int at = 1; at < LENGTH; at++) {
            CHECK_EQUAL(line[at], line[0]);
        }
        counts[line[0] - 'a']++;
    }
    fclose(stream);
    for (int writer = 0; writer < WRITERS; writer++) {
        CHECK_EQUAL(counts[writer], LINES);
        CHECK(wait(&status) > 0);
        CHECK_EQUAL(status, 0);
    }
    CHECK_EQUAL(unlink("f"), 0);
}

int main(void) {
    char place[] = "/dev/shm/fifos-XXXXXX";
    CHECK(mkdtemp(place) == place);
    CHECK_EQUAL(chdir(place), 0);
    part_attributes();
    part_without_waiting();
    part_again();
    part_waiting();
    part_interrupted();
    part_lines();
    CHECK_EQUAL(rmdir(place), 0);
    printf("fifos: ok\n");
    return 0;
}
