// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Nice values, and limits that a process notices when it has reached them.

#define _GNU_SOURCE
#include "set.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int exit_of(pid_t child) {
    int status = -1;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* --- nice values ---------------------------------------------------------------------------------------- */

static int nice_of(int which, id_t who) {
    errno = 0;
    int value = getpriority(which, who);
    CHECK_EQUAL(errno, 0);
    return value;
}

/* Fields 18 and 19 of stat. */
static void shown(int *priority, int *value) {
    char text[1024];
    int file = open("/proc/self/stat", O_RDONLY);
    ssize_t bytes = read(file, text, sizeof text - 1);
    CHECK(bytes > 0 && close(file) == 0);
    text[bytes] = 0;
    int found =
        sscanf(strrchr(text, ')'), ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %d %d",
               priority, value);
    CHECK_EQUAL(found, 2);
}

static void *own_value(void *from) {
    CHECK_EQUAL(nice_of(PRIO_PROCESS, 0), *(int *)from);
    CHECK_EQUAL(setpriority(PRIO_PROCESS, (id_t)gettid(), 13), 0);
    CHECK_EQUAL(nice_of(PRIO_PROCESS, (id_t)gettid()), 13);
    return NULL;
}

static double cpu_seconds(clockid_t clock) {
    struct timespec time;
    CHECK_EQUAL(clock_gettime(clock, &time), 0);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Of two that spin on one CPU the one with the lower value gets more of it. */
static void share(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    _Atomic int *ready = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(ready != MAP_FAILED);
    pid_t children[2];
    for (int index = 0; index < 2; index++) {
        children[index] = fork();
        if (children[index] == 0) {
            CHECK_EQUAL(sched_setaffinity(0, sizeof one, &one), 0);
            CHECK_EQUAL(setpriority(PRIO_PROCESS, 0, index == 0 ? 5 : 19), 0);
            ++*ready;
            while (*ready < 2) {
                sched_yield();
            }
            for (;;) {
            }
        }
    }
    clockid_t clocks[2];
    CHECK_EQUAL(clock_getcpuclockid(children[0], &clocks[0]), 0);
    CHECK_EQUAL(clock_getcpuclockid(children[1], &clocks[1]), 0);
    /* What is taken from a machine counts as time of the one that runs: long enough that this does not
     * matter. */
    while (cpu_seconds(clocks[0]) + cpu_seconds(clocks[1]) < 1) {
        usleep(10000);
    }
    CHECK(cpu_seconds(clocks[0]) > 1.5 * cpu_seconds(clocks[1]));
    for (int index = 0; index < 2; index++) {
        CHECK_EQUAL(kill(children[index], SIGKILL), 0);
        CHECK_EQUAL(exit_of(children[index]), -SIGKILL);
    }
    CHECK_EQUAL(munmap((void *)ready, 4096), 0);
}

static void unprivileged(void) {
    struct rlimit down_to_four = {16, 16};
    /* Not every superuser may raise a limit. */
    bool may_lower = setrlimit(RLIMIT_NICE, &down_to_four) == 0;
    CHECK_EQUAL(setpriority(PRIO_PROCESS, 0, 6), 0);
    /* No other process is to have this user: all of them get another value below. */
    uid_t user = 60000 + (uid_t)getpid() % 4000;
    CHECK_EQUAL(setresuid(user, user, user), 0);
    CHECK_EQUAL(setpriority(PRIO_PROCESS, 0, 8), 0);
    if (may_lower) {
        CHECK_EQUAL(setpriority(PRIO_PROCESS, 0, 4), 0);
    } else {
        CHECK_ERRNO(setpriority(PRIO_PROCESS, 0, 4), EACCES);
    }
    CHECK_ERRNO(setpriority(PRIO_PROCESS, 0, 3), EACCES);
    CHECK_ERRNO(setpriority(PRIO_PROCESS, 0, -100), EACCES);
    CHECK_EQUAL(nice_of(PRIO_PROCESS, 0), may_lower ? 4 : 8);
    CHECK_ERRNO(setpriority(PRIO_PROCESS, (id_t)getppid(), 19), EPERM);
    CHECK_EQUAL(setpriority(PRIO_USER, 0, 9), 0);
    CHECK_EQUAL(nice_of(PRIO_USER, user), 9);
}

/* A group of two. */
static void group(void) {
    int ready[2];
    CHECK_EQUAL(pipe(ready), 0);
    pid_t leader = fork();
    if (leader == 0) {
        CHECK_EQUAL(setpgid(0, 0), 0);
        CHECK_EQUAL(setpriority(PRIO_PROCESS, 0, 11), 0);
        pid_t second = fork();
        if (second == 0) {
            CHECK_EQUAL(nice_of(PRIO_PROCESS, 0), 11);
            CHECK_EQUAL(setpriority(PRIO_PROCESS, 0, 12), 0);
            pid_t own = getpid();
            CHECK_EQUAL(write(ready[1], &own, sizeof own), sizeof own);
            pause();
        }
        CHECK_EQUAL(exit_of(second), -SIGKILL);
        _exit(4);
    }
    pid_t second;
    CHECK_EQUAL(read(ready[0], &second, sizeof second), sizeof second);
    CHECK_EQUAL(nice_of(PRIO_PGRP, (id_t)leader), 11);
    CHECK_EQUAL(setpriority(PRIO_PGRP, (id_t)leader, 15), 0);
    CHECK_EQUAL(nice_of(PRIO_PGRP, (id_t)leader), 15);
    CHECK_EQUAL(nice_of(PRIO_PROCESS, (id_t)leader), 15);
    CHECK_EQUAL(kill(-leader, SIGCONT), 0);
    siginfo_t info;
    CHECK_EQUAL(kill(second, SIGKILL), 0);
    CHECK_EQUAL(waitid(P_PID, (id_t)leader, &info, WEXITED), 0);
    CHECK_EQUAL(info.si_status, 4);
    CHECK_ERRNO(setpriority(PRIO_PGRP, (id_t)leader, 15), ESRCH);
    close(ready[0]);
    close(ready[1]);
}

void part_nice(void) {
    bool is_root = geteuid() == 0;
    int priority, value = 5;
    CHECK_EQUAL(setpriority(PRIO_PROCESS, 0, value), 0);
    CHECK_EQUAL(nice_of(PRIO_PROCESS, 0), 5);
    CHECK_EQUAL(nice_of(PRIO_PROCESS, (id_t)getpid()), 5);
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, own_value, &value), 0);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    CHECK_EQUAL(nice_of(PRIO_PROCESS, 0), 5);
    shown(&priority, &value);
    CHECK(priority == 25 && value == 5);
    share();
    group();
    pid_t child = fork();
    if (child == 0) {
        CHECK_EQUAL(nice_of(PRIO_PROCESS, 0), 5);
        CHECK_EQUAL(nice(2), 7);
        CHECK_EQUAL(setpriority(PRIO_PROCESS, 0, 100), 0);
        CHECK_EQUAL(nice_of(PRIO_PROCESS, 0), 19);
        if (is_root) {
            CHECK_EQUAL(setpriority(PRIO_PROCESS, 0, -100), 0);
            CHECK_EQUAL(nice_of(PRIO_PROCESS, 0), -20);
            shown(&priority, &value);
            CHECK(priority == 0 && value == -20);
            struct sched_param none = {0};
            CHECK_EQUAL(sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none), 0);
            pid_t next = fork();
            if (next == 0) {
                CHECK_EQUAL(nice_of(PRIO_PROCESS, 0), 0);
                unprivileged();
                _exit(0);
            }
            CHECK_EQUAL(exit_of(next), 0);
        }
        _exit(6);
    }
    CHECK_EQUAL(exit_of(child), 6);
    CHECK_ERRNO(setpriority(PRIO_PROCESS, 1 << 22, 3), ESRCH);
    CHECK_ERRNO(setpriority(7, 0, 3), EINVAL);
}

/* --- the size of files ---------------------------------------------------------------------------------- */

enum { LIMIT = 10000, LONG = 20000 };

static volatile sig_atomic_t excesses;

static void count(int number) {
    (void)number;
    excesses++;
}

/* A call that is refused, with a signal. */
#define CHECK_EXCESS(call)                                                                                   \
    do {                                                                                                     \
        int before = excesses;                                                                               \
        CHECK_ERRNO(call, EFBIG);                                                                            \
        CHECK_EQUAL(excesses, before + 1);                                                                   \
    } while (0)

static const char data[LONG];

static void in(const char *directory) {
    char path[128], longer[128];
    snprintf(path, sizeof path, "%s/limited.%d", directory, getpid());
    snprintf(longer, sizeof longer, "%s/longer.%d", directory, getpid());
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    int old = open(longer, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK_EQUAL(write(old, data, LONG), LONG);
    limit.rlim_cur = LIMIT;
    CHECK_EQUAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK_EQUAL(write(file, data, 8000), 8000);
    CHECK_EQUAL(write(file, data, 8000), 2000);
    CHECK_EXCESS(write(file, data, 8000));
    CHECK_EXCESS(write(file, data, 1));
    CHECK_EQUAL(write(file, data, 0), 0);
    CHECK_EQUAL(pwrite(file, data, 2, LIMIT - 1), 1);
    CHECK_EXCESS(pwrite(file, data, 2, LIMIT));
    CHECK_EXCESS(ftruncate(file, LIMIT + 1));
    CHECK_EXCESS(truncate(path, LONG));
    /* What is refused for another reason has no signal. */
    int before = excesses, reader = open(path, O_RDONLY);
    CHECK_ERRNO(ftruncate(reader, LONG), EINVAL);
    CHECK_ERRNO(fallocate(reader, 0, 0, LONG), EBADF);
    CHECK_ERRNO(truncate(directory, LONG), EISDIR);
    CHECK(close(reader) == 0 && excesses == before);
    CHECK_EQUAL(ftruncate(file, 9990), 0);
    int end = open(path, O_WRONLY | O_APPEND);
    CHECK_EQUAL(write(end, data, 30), 10);
    CHECK_EXCESS(write(end, data, 30));
    CHECK_EQUAL(close(end), 0);
    /* What is longer already may become shorter. */
    CHECK_EXCESS(pwrite(old, data, 1, LIMIT));
    CHECK_EQUAL(ftruncate(old, LONG - 1), 0);
    CHECK_EXCESS(ftruncate(old, LONG));
    CHECK_EQUAL(pwrite(old, data, 10, 0), 10);
    off_t from = 0;
    CHECK_EQUAL(lseek(file, 9000, SEEK_SET), 9000);
    CHECK_EQUAL(sendfile(file, old, &from, 5000), 1000);
    CHECK_EXCESS(sendfile(file, old, &from, 5000));
    CHECK_EQUAL(close(old) + close(file) + unlink(path) + unlink(longer), 0);
    limit.rlim_cur = RLIM_INFINITY;
    CHECK_EQUAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

void part_file_size(void) {
    CHECK(signal(SIGXFSZ, count) != SIG_ERR);
    in(".");
    in("/dev/shm");
    struct rlimit none = {0, RLIM_INFINITY};
    CHECK_EQUAL(setrlimit(RLIMIT_FSIZE, &none), 0);
    /* Only files have a size. */
    int ends[2], null = open("/dev/null", O_WRONLY), memory = memfd_create("limited", 0);
    CHECK_EQUAL(pipe(ends), 0);
    CHECK_EQUAL(write(ends[1], data, 100), 100);
    CHECK_EQUAL(write(null, data, 100), 100);
    CHECK_EXCESS(write(memory, data, 100));
    CHECK_EXCESS(fallocate(memory, 0, 0, 100));
    CHECK_EQUAL(fallocate(memory, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 0, 100), 0);
    close(memory);
    close(null);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit core = {0, 0};
        CHECK_EQUAL(setrlimit(RLIMIT_CORE, &core), 0);
        CHECK(signal(SIGXFSZ, SIG_DFL) != SIG_ERR);
        memory = memfd_create("deadly", 0);
        CHECK_EQUAL(write(memory, data, 1), 1);
        _exit(0);
    }
    CHECK_EQUAL(exit_of(child), -SIGXFSZ);
    close(ends[0]);
    close(ends[1]);
    none.rlim_cur = RLIM_INFINITY;
    CHECK_EQUAL(setrlimit(RLIMIT_FSIZE, &none), 0);
}
