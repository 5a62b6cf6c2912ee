// SPDX-License-Identifier: Apache-2.0 OR MIT
// Memory that processes have in common: threads that write to what a child has, too, and files that several
// have mapped.
#define _GNU_SOURCE
#include "../common/check.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { PAGE = 4096, PAGES = 2048, WRITERS = 4 };

static char *memory(size_t bytes) {
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

static void expect_child(pid_t child) {
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// Two ends of a conversation in turns.
static int to_child[2], to_parent[2];

static void begin_turns(void) { CHECK(pipe(to_child) == 0 && pipe(to_parent) == 0); }

static void end_turns(void) {
    for (int end = 0; end < 2; end++) {
        close(to_child[end]);
        close(to_parent[end]);
    }
}

static void say(const int *pipe) { CHECK(write(pipe[1], "x", 1) == 1); }

static void hear(const int *pipe) {
    char byte;
    CHECK(read(pipe[0], &byte, 1) == 1);
}

// --- threads that write to different pages of what a child has, too, while another maps and unmaps

static char *shared;
static atomic_bool done;

static void *writes(void *arg) {
    for (long page = (long)arg; page < PAGES; page += WRITERS) {
        shared[page * PAGE] = 2;
    }
    return NULL;
}

static void *maps(void *arg) {
    while (!done) {
        char *at = memory(3 * PAGE);
        at[PAGE] = 1;
        munmap(at, 3 * PAGE);
    }
    return arg;
}

static int sum(int part) {
    int total = 0;
    for (int page = 0; page < PAGES; page++) {
        total += shared[page * PAGE + part];
    }
    return total;
}

static void copies_beside_each_other(void) {
    shared = memory(PAGES * PAGE);
    memset(shared, 1, PAGES * PAGE);
    begin_turns();
    pid_t child = fork();
    if (child == 0) {
        hear(to_child);
        _exit(sum(0) == PAGES && sum(9) == PAGES ? 0 : 1);
    }
    pthread_t threads[WRITERS], mapper;
    CHECK(pthread_create(&mapper, NULL, maps, NULL) == 0);
    for (long i = 0; i < WRITERS; i++) {
        CHECK(pthread_create(&threads[i], NULL, writes, (void *)i) == 0);
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
    }
    done = true;
    pthread_join(mapper, NULL);
    CHECK(sum(0) == 2 * PAGES && sum(9) == PAGES);
    say(to_child);
    expect_child(child);
    end_turns();
    munmap(shared, PAGES * PAGE);
}

// --- a file that two have mapped gets shorter, and longer

static sigjmp_buf beyond;

static void jump(int signal) { siglongjmp(beyond, signal); }

// What is at an address, or the signal, negative.
static int look(const volatile char *at) {
    int signal = sigsetjmp(beyond, 1);
    return signal ? -signal : *at;
}

static void truncates(int fd) {
    CHECK(fd >= 0 && ftruncate(fd, 2 * PAGE) == 0);
    char *at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(at != MAP_FAILED);
    at[PAGE] = 1;
    begin_turns();
    pid_t child = fork();
    if (child == 0) {
        signal(SIGBUS, jump);
        CHECK(look(at + PAGE) == 1);
        say(to_parent);
        hear(to_child);
        CHECK(look(at + PAGE) == -SIGBUS);
        say(to_parent);
        hear(to_child);
        CHECK(look(at + PAGE) == 2);
        at[PAGE + 1] = 3;
        _exit(0);
    }
    hear(to_parent);
    CHECK(ftruncate(fd, PAGE) == 0);
    say(to_child);
    hear(to_parent);
    CHECK(ftruncate(fd, 2 * PAGE) == 0);
    at[PAGE] = 2;
    say(to_child);
    expect_child(child);
    CHECK(at[PAGE + 1] == 3);
    end_turns();
    munmap(at, 2 * PAGE);
    close(fd);
}

// --- what a child writes to a file's mapping is in the file when the parent has asked for it

static void synchronises(const char *path) {
    for (int by_fsync = 0; by_fsync < 2; by_fsync++) {
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
        CHECK(fd >= 0 && ftruncate(fd, 2 * PAGE) == 0);
        char *at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        CHECK(at != MAP_FAILED);
        begin_turns();
        pid_t child = fork();
        if (child == 0) {
            strcpy(at + PAGE, "child");
            say(to_parent);
            hear(to_child);
            _exit(0);
        }
        hear(to_parent);
        CHECK((by_fsync ? fsync(fd) : msync(at, 2 * PAGE, MS_SYNC)) == 0);
        char text[8] = "";
        int other = open(path, O_RDONLY);
        CHECK(pread(other, text, sizeof text, PAGE) == sizeof text && strcmp(text, "child") == 0);
        close(other);
        say(to_child);
        expect_child(child);
        end_turns();
        munmap(at, 2 * PAGE);
        close(fd);
        unlink(path);
    }
}

// --- a fork of much memory that is barely touched, and what the next child has of it

static long peak_kib(void) {
    char line[200];
    long peak = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) {
        sscanf(line, "VmHWM: %ld", &peak);
    }
    fclose(status);
    return peak;
}

static void peaks_are_ones_own(void) {
    enum { MUCH = 64 << 20 };
    for (int round = 0; round < 2; round++) {
        pid_t child = fork();
        if (child == 0) {
            if (round == 0) {
                memset(memory(MUCH), 1, MUCH);
            }
            _exit(round == 0 || peak_kib() < MUCH / 2048 ? 0 : 1);
        }
        expect_child(child);
    }
}

int main(void) {
    peaks_are_ones_own();
    copies_beside_each_other();
    truncates(memfd_create("file", 0));
    char path[] = "/tmp/shared-XXXXXX";
    int fd = mkstemp(path);
    unlink(path);
    truncates(fd);
    fd = open("shared-file", O_RDWR | O_CREAT | O_TRUNC, 0600);
    truncates(fd);
    unlink("shared-file");
    synchronises("shared-file");
    puts("ok");
    return 0;
}
