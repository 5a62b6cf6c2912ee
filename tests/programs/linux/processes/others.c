// SPDX-License-Identifier: Apache-2.0 OR MIT
// What processes ask about each other, what they use, and what they leave.
#include "parts.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <time.h>

// What a process may ask and change about another one: whom it runs as decides.
void others(void) {
    int ready[2];
    CHECK(pipe(ready) == 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(ready[1]);
        if (read(ready[0], &byte, 1) != 0) {
            _exit(1);
        }
        struct rlimit limit;
        cpu_set_t cpus;
        getrlimit(RLIMIT_CORE, &limit), sched_getaffinity(0, sizeof cpus, &cpus);
        _exit(limit.rlim_cur == 0 && limit.rlim_max == 4096 && CPU_COUNT(&cpus) == 1 ? 7 : 8);
    }
    close(ready[0]);
    cpu_set_t cpus, first;
    CHECK(sched_getaffinity(child, sizeof cpus, &cpus) == 0);
    CPU_ZERO(&first);
    for (int cpu = 0; CPU_COUNT(&first) == 0; ++cpu) {
        if (CPU_ISSET(cpu, &cpus)) {
            CPU_SET(cpu, &first);
        }
    }
    CHECK(sched_setaffinity(child, sizeof first, &first) == 0);
    CHECK(sched_getaffinity(child, sizeof cpus, &cpus) == 0 && CPU_EQUAL(&cpus, &first));
    struct sched_param param = {0};
    struct timespec slice;
    CHECK(sched_setscheduler(child, SCHED_BATCH, &param) == 0);
    CHECK(sched_setparam(child, &param) == 0 && sched_getparam(child, &param) == 0);
    CHECK_EQUAL(sched_getscheduler(child), SCHED_BATCH);
    CHECK(sched_rr_get_interval(child, &slice) == 0);
    errno = 0;
    CHECK(getpriority(PRIO_PROCESS, child) >= 0 && getpriority(PRIO_PGRP, getpgrp()) >= 0 && errno == 0);
    CHECK(setpriority(PRIO_PROCESS, child, 3) == 0);
    struct rlimit limit = {0, 4096}, before;
    CHECK(prlimit(child, RLIMIT_CORE, NULL, &before) == 0);
    if (before.rlim_max < 4096) {
        limit.rlim_max = before.rlim_max;
    }
    CHECK(prlimit(child, RLIMIT_CORE, &limit, NULL) == 0);
    CHECK(prlimit(child, RLIMIT_CORE, NULL, &before) == 0 && before.rlim_cur == 0);
    pid_t stranger = geteuid() == 0 ? fork() : -1;
    if (stranger == 0) {
        CHECK(setresuid(65534, 65534, 65534) == 0);
        CHECK_ERRNO(sched_setaffinity(child, sizeof first, &first), EPERM);
        CHECK_ERRNO(sched_setscheduler(child, SCHED_OTHER, &param), EPERM);
        CHECK_ERRNO(sched_setparam(child, &param), EPERM);
        CHECK_ERRNO(setpriority(PRIO_PROCESS, child, 4), EPERM);
        CHECK_ERRNO(prlimit(child, RLIMIT_CORE, NULL, &limit), EPERM);
        CHECK(sched_getaffinity(child, sizeof cpus, &cpus) == 0 && sched_getscheduler(child) == SCHED_BATCH);
        _exit(9);
    }
    CHECK(stranger < 0 || exit_of(stranger) == 9);
    close(ready[1]);
    CHECK_EQUAL(exit_of(child), limit.rlim_max == 4096 ? 7 : 8);
    CHECK_ERRNO(sched_setaffinity(child, sizeof first, &first), ESRCH);
    CHECK_ERRNO(setpriority(PRIO_PROCESS, child, 3), ESRCH);
    CHECK_ERRNO(prlimit(child, RLIMIT_CORE, NULL, &limit), ESRCH);
}

// What a child has used counts for those who wait for it, with what its children have used.
static void used_by_grandchild(void) {
    // Linux counts pages by CPU, and adds up only now and then: of each CPU some dozens may be missing. So
    // the grandchild has more than has to be counted.
    enum { KIB = 20 << 10, MORE = 1 << 10 };
    pid_t child = fork();
    if (child == 0) {
        pid_t grandchild = fork();
        if (grandchild == 0) {
            volatile char *block = malloc((KIB + MORE) << 10);
            CHECK(block != NULL);
            for (size_t at = 0; at < (KIB + MORE) << 10; at += PAGE) {
                block[at] = 1;
            }
            struct timespec now;
            do {
                clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
            } while (now.tv_sec == 0 && now.tv_nsec < 60000000);
            _exit(0);
        }
        _exit(exit_of(grandchild));
    }
    struct rusage of_child, of_all;
    int status;
    CHECK_EQUAL(wait4(child, &status, 0, &of_child), child);
    CHECK_EQUAL(status, 0);
    CHECK(of_child.ru_utime.tv_sec * 1000000 + of_child.ru_utime.tv_usec +
              of_child.ru_stime.tv_sec * 1000000 + of_child.ru_stime.tv_usec >=
          50000);
    CHECK(of_child.ru_maxrss >= KIB && of_child.ru_minflt > 0);
    CHECK_EQUAL(getrusage(RUSAGE_CHILDREN, &of_all), 0);
    CHECK(of_all.ru_maxrss >= of_child.ru_maxrss && of_all.ru_minflt >= of_child.ru_minflt);
}

// A child that has ended has no arguments and no executable any more, but its first thread is listed.
static void ended_in_proc(void) {
    pid_t child = fork();
    if (child == 0) {
        _exit(3);
    }
    siginfo_t info;
    CHECK_EQUAL(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    char path[100], text[100];
    snprintf(path, sizeof path, "/proc/%d/cmdline", child);
    int file = open(path, O_RDONLY);
    CHECK(file >= 0);
    CHECK_EQUAL(read(file, text, sizeof text), 0);
    CHECK_EQUAL(close(file), 0);
    snprintf(path, sizeof path, "/proc/%d/exe", child);
    CHECK_ERRNO(readlink(path, text, sizeof text), ENOENT);
    snprintf(path, sizeof path, "/proc/%d/task", child);
    DIR *directory = opendir(path);
    CHECK(directory != NULL);
    int found = 0;
    struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        found += atoi(entry->d_name) == child;
    }
    CHECK_EQUAL(closedir(directory), 0);
    CHECK_EQUAL(found, 1);
    CHECK_EQUAL(exit_of(child), 3);
}

void usage(void) {
    struct tms before, after;
    times(&before);
    pid_t child = fork();
    if (child == 0) {
        struct timespec now;
        do {
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        } while (now.tv_sec == 0 && now.tv_nsec < 60000000);
        _exit(0);
    }
    struct rusage of_child;
    int status;
    CHECK_EQUAL(wait4(child, &status, 0, &of_child), child);
    CHECK(of_child.ru_utime.tv_sec * 1000000 + of_child.ru_utime.tv_usec +
              of_child.ru_stime.tv_sec * 1000000 + of_child.ru_stime.tv_usec >=
          50000);
    times(&after);
    CHECK(after.tms_cutime + after.tms_cstime - before.tms_cutime - before.tms_cstime >= 4);
    used_by_grandchild();
    ended_in_proc();
}

static long free_kib(void) {
    FILE *file = fopen("/proc/meminfo", "r");
    CHECK(file != NULL);
    char line[200];
    long kib = -1;
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "MemFree: %ld", &kib) == 1) {
            break;
        }
    }
    fclose(file);
    return kib;
}

// Signals that nobody takes, for the process and for its thread.
static void queue_signals(int count) {
    sigset_t all;
    sigfillset(&all);
    CHECK_EQUAL(sigprocmask(SIG_BLOCK, &all, NULL), 0);
    for (int index = 0; index < count; ++index) {
        CHECK_EQUAL(sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = index}), 0);
        CHECK_EQUAL(syscall(SYS_tgkill, getpid(), getpid(), SIGRTMIN + 1), 0);
    }
}

// Where nobody else takes memory, there is as much after many processes as before.
void leaks(void) {
    char name[20] = "";
    FILE *file = fopen("/proc/1/comm", "r");
    int is_alone = file != NULL && fgets(name, sizeof name, file) != NULL && strcmp(name, "hadal\n") == 0;
    if (file != NULL) {
        fclose(file);
    }
    long before = free_kib();
    for (int index = 0; index < 300; ++index) {
        pid_t child = fork();
        if (child == 0) {
            char *block = malloc(3 << 20);
            memset(block, 1, 3 << 20);
            if (index % 3 == 0) {
                queue_signals(800);
            }
            if (index % 50 == 0) {
                execlp("true", "true", NULL);
            }
            _exit(0);
        }
        CHECK_EQUAL(exit_of(child), 0);
    }
    long lost = before - free_kib();
    if (is_alone && lost > 4096) {
        fprintf(stderr, "%ld KiB are lost\n", lost);
        _exit(99);
    }
}
