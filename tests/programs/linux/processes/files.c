// SPDX-License-Identifier: Apache-2.0 OR MIT
// Pipes, locks of files, and directories of /proc.
#include "parts.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void *fork_here(void *argument) {
    pid_t child = fork();
    if (child == 0) {
        _exit(syscall(SYS_gettid) == getpid() ? 4 : 1);
    }
    *(int *)argument = exit_of(child);
    return NULL;
}

void pipes(void) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t writer = fork();
    if (writer == 0) {
        close(ends[0]);
        char block[1000];
        memset(block, 'b', sizeof block);
        for (int index = 0; index < 300; ++index) {
            CHECK(write(ends[1], block, sizeof block) == sizeof block);
        }
        _exit(0);
    }
    close(ends[1]);
    long total = 0;
    char block[4096];
    for (ssize_t got_now; (got_now = read(ends[0], block, sizeof block)) > 0;) {
        total += got_now;
    }
    CHECK_EQUAL(total, 300000);
    CHECK_EQUAL(exit_of(writer), 0);
    close(ends[0]);
    // Nobody reads.
    CHECK(pipe(ends) == 0);
    writer = fork();
    if (writer == 0) {
        close(ends[0]);
        while (write(ends[1], block, sizeof block) > 0) {
        }
        _exit(1);
    }
    close(ends[0]);
    close(ends[1]);
    CHECK_EQUAL(WTERMSIG(status_of(writer)), SIGPIPE);
    int from_thread = 0;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, fork_here, &from_thread) == 0 && pthread_join(thread, NULL) == 0);
    CHECK_EQUAL(from_thread, 4);
    // The first thread ends, another one goes on.
    pid_t child = fork();
    if (child == 0) {
        pthread_t last;
        static int inner;
        CHECK(pthread_create(&last, NULL, fork_here, &inner) == 0);
        pthread_exit(NULL);
    }
    CHECK_EQUAL(exit_of(child), 0);
}

// A lock of a process goes with it, however it ends, and with a descriptor that execve closes; who waits for
// it gets it.
void locks(void) {
    char name[] = "/tmp/processes-XXXXXX";
    int file = mkstemp(name);
    CHECK(file >= 0);
    for (int how = 0; how < 3; ++how) {
        int ready[2], ends[2];
        CHECK(pipe(ready) == 0 && pipe(ends) == 0);
        pid_t child = fork();
        if (child == 0) {
            int own = open(name, O_RDWR | O_CLOEXEC);
            if (flock(own, LOCK_EX) != 0 || write(ready[1], "x", 1) != 1) {
                _exit(1);
            }
            usleep(200000);
            if (how == 0) {
                raise(SIGKILL);
            } else if (how == 1) {
                dup2(ends[0], 0), close(ends[1]);
                execlp("cat", "cat", NULL);
            }
            _exit(0);
        }
        char byte;
        CHECK(read(ready[0], &byte, 1) == 1);
        CHECK(flock(file, LOCK_EX) == 0);
        // Only the one that has called execve is there.
        CHECK(how != 1 || waitpid(child, NULL, WNOHANG) == 0);
        CHECK(flock(file, LOCK_UN) == 0);
        close(ends[1]), close(ends[0]), close(ready[0]), close(ready[1]);
        waitpid(child, NULL, 0);
    }
    unlink(name);
    close(file);
}

// Whoever looks into a directory of /proc that he has opened before sees nothing of the processes after.
void records(void) {
    char path[40], text[100];
    pid_t first = fork();
    if (first == 0) {
        pause();
        _exit(0);
    }
    snprintf(path, sizeof path, "/proc/%d", first);
    int directory = open(path, O_RDONLY | O_DIRECTORY), again = open(path, O_RDONLY | O_DIRECTORY);
    int threads = openat(directory, "task", O_RDONLY | O_DIRECTORY);
    int files = openat(directory, "fd", O_RDONLY | O_DIRECTORY);
    int comm = openat(directory, "comm", O_RDWR);
    CHECK(directory >= 0 && again >= 0 && threads >= 0 && files >= 0 && comm >= 0);
    CHECK(faccessat(directory, "stat", R_OK, 0) == 0);
    kill(first, SIGKILL);
    CHECK(WIFSIGNALED(status_of(first)));
    for (int round = 0; round < 2; ++round) {
        pid_t next = 0;
        if (round == 1) {
            next = fork();
            if (next == 0) {
                pause();
                _exit(0);
            }
        }
        static const char *const names[] = {"stat", "status", "comm", "cmdline", "maps", "mounts"};
        for (unsigned index = 0; index < sizeof names / sizeof *names; ++index) {
            CHECK_ERRNO(openat(directory, names[index], O_RDONLY), ESRCH);
        }
        CHECK_ERRNO(readlinkat(directory, "exe", text, sizeof text), ESRCH);
        CHECK_ERRNO(readlinkat(directory, "fd/1", text, sizeof text), ESRCH);
        CHECK_ERRNO(write(comm, "x", 1), ESRCH);
        int lists[] = {again, threads, files};
        for (unsigned index = 0; index < sizeof lists / sizeof *lists; ++index) {
            CHECK_ERRNO(syscall(SYS_getdents64, lists[index], text, sizeof text), ENOENT);
        }
        CHECK_ERRNO(open(path, O_RDONLY), ENOENT);
        if (round == 1) {
            kill(next, SIGKILL);
            status_of(next);
        }
    }
    close(directory), close(again), close(threads), close(files), close(comm);
}
