// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Processes that are not the program: what calls say about process 1, about one that is not there, and about
// numbers that are no ids, to a program without privileges; and what /proc says about process 1. Linux says
// what is right.

#define _GNU_SOURCE
#include "../common/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

enum { STRANGER = 4000000, NOBODY = 65534 };

static siginfo_t enclosed;
static unsigned long cpus[128];
static struct sched_param priority;
static struct sched_param wrong_priority = {.sched_priority = 200};
static struct timespec interval;
static struct rlimit limit;

static long own;

static void show(const char *name, long long result) {
    if (result < 0) {
        printf(" %s %s", name, strerrorname_np(errno));
    } else {
        printf(" %s ok", name);
    }
}

#define SHOW(name, number, ...) show(name, syscall(number, __VA_ARGS__))

static void ask(const char *who, long id) {
    printf("%s:", who);
    enclosed.si_code = SI_QUEUE;
    SHOW("kill", SYS_kill, id, 0);
    SHOW("kill-bad-signal", SYS_kill, id, 99);
    SHOW("tkill", SYS_tkill, id, 0);
    SHOW("tkill-bad-signal", SYS_tkill, id, 99);
    SHOW("tgkill", SYS_tgkill, id, id, 0);
    SHOW("tgkill-of-own", SYS_tgkill, own, id, 0);
    SHOW("tgkill-of-other", SYS_tgkill, id, own, 0);
    SHOW("sigqueue", SYS_rt_sigqueueinfo, id, 0, &enclosed);
    SHOW("sigqueue-bad-signal", SYS_rt_sigqueueinfo, id, 99, &enclosed);
    SHOW("sigqueue-bad-address", SYS_rt_sigqueueinfo, id, 0, 8);
    SHOW("tgsigqueue", SYS_rt_tgsigqueueinfo, id, id, 0, &enclosed);
    enclosed.si_code = SI_USER;
    SHOW("sigqueue-pretending", SYS_rt_sigqueueinfo, id, 0, &enclosed);
    SHOW("tgsigqueue-pretending", SYS_rt_tgsigqueueinfo, id, id, 0, &enclosed);
    printf("\n%s:", who);
    SHOW("getaffinity", SYS_sched_getaffinity, id, sizeof cpus, cpus);
    SHOW("getaffinity-short", SYS_sched_getaffinity, id, 7, cpus);
    SHOW("getscheduler", SYS_sched_getscheduler, id);
    SHOW("getparam", SYS_sched_getparam, id, &priority);
    SHOW("getparam-null", SYS_sched_getparam, id, NULL);
    SHOW("getparam-bad-address", SYS_sched_getparam, id, 8);
    SHOW("rr-interval", SYS_sched_rr_get_interval, id, &interval);
    SHOW("setscheduler-null", SYS_sched_setscheduler, id, SCHED_OTHER, NULL);
    SHOW("setscheduler-bad-address", SYS_sched_setscheduler, id, SCHED_OTHER, 8);
    SHOW("setscheduler", SYS_sched_setscheduler, id, SCHED_OTHER, &priority);
    SHOW("setscheduler-bad-priority", SYS_sched_setscheduler, id, SCHED_OTHER, &wrong_priority);
    SHOW("setscheduler-bad-policy", SYS_sched_setscheduler, id, 77, &priority);
    SHOW("setparam", SYS_sched_setparam, id, &priority);
    SHOW("setparam-bad-priority", SYS_sched_setparam, id, &wrong_priority);
    SHOW("setparam-null", SYS_sched_setparam, id, NULL);
    SHOW("setaffinity", SYS_sched_setaffinity, id, sizeof cpus, cpus);
    SHOW("setaffinity-bad-address", SYS_sched_setaffinity, id, sizeof cpus, 8);
    printf("\n%s:", who);
    SHOW("getpgid", SYS_getpgid, id);
    SHOW("getsid", SYS_getsid, id);
    SHOW("setpgid", SYS_setpgid, id == own ? STRANGER : id, 0);
    SHOW("getpriority", SYS_getpriority, PRIO_PROCESS, id);
    SHOW("getpriority-of-group", SYS_getpriority, PRIO_PGRP, id == own ? 0 : id == 1 ? STRANGER : id);
    SHOW("getpriority-of-nobody", SYS_getpriority, PRIO_USER, STRANGER);
    SHOW("getpriority-of-what", SYS_getpriority, 3, id);
    SHOW("setpriority", SYS_setpriority, PRIO_PROCESS, id, 19);
    SHOW("prlimit", SYS_prlimit64, id, RLIMIT_NOFILE, NULL, &limit);
    clockid_t clock;
    show("cpu-clock", -clock_getcpuclockid((pid_t)id, &clock));
    printf("\n");
    fflush(stdout);
}

// The names in /proc that are numbers; the first and whether the program's own is there.
static void list(void) {
    DIR *directory = opendir("/proc");
    CHECK(directory != NULL);
    char first[16] = "";
    int seen = 0;
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') {
            if (first[0] == 0) {
                snprintf(first, sizeof first, "%.15s", entry->d_name);
            }
            seen |= atol(entry->d_name) == own;
        }
    }
    closedir(directory);
    printf("first %s, own %d\n", first, seen);
}

static char text[4096];

static const char *content(const char *path) {
    int file = open(path, O_RDONLY);
    CHECK(file >= 0);
    ssize_t count = read(file, text, sizeof text - 1);
    CHECK(count >= 0);
    text[count] = 0;
    close(file);
    return text;
}

static int fields(const char *stat) {
    int count = 0;
    for (const char *at = strrchr(stat, ')'); *at != 0; at++) {
        count += *at == ' ';
    }
    return count;
}

static void files(void) {
    char state;
    int parent = -1;
    const char *paths[] = {"/proc/1/stat", "/proc/1/task/1/stat"};
    for (int i = 0; i < 2; i++) {
        const char *stat = content(paths[i]);
        CHECK_EQUAL(strncmp(stat, "1 (", 3), 0);
        CHECK_EQUAL(sscanf(strrchr(stat, ')'), ") %c %d", &state, &parent), 2);
        CHECK_EQUAL(parent, 0);
        CHECK_EQUAL(fields(stat), 50);
        CHECK(strchr("RSDI", state) != NULL);
    }
    const char *status = content("/proc/1/status");
    CHECK(strstr(status, "\nPid:\t1\n") != NULL && strstr(status, "\nTgid:\t1\n") != NULL);
    CHECK(strstr(status, "\nPPid:\t0\n") != NULL && strstr(status, "\nUid:\t0\t0\t0\t0\n") != NULL);
    CHECK(strchr(content("/proc/1/comm"), '\n') != NULL);
    content("/proc/1/cmdline");
    content("/proc/1/statm");
    // The parent is a process that can be asked about, and the same everywhere.
    CHECK(getppid() > 0);
    CHECK(kill(getppid(), 0) == 0 || errno == EPERM);
    CHECK_EQUAL(sscanf(strrchr(content("/proc/self/stat"), ')'), ") %c %d", &state, &parent), 2);
    CHECK_EQUAL(parent, getppid());
    CHECK_EQUAL(sscanf(strstr(content("/proc/self/status"), "\nPPid:"), " PPid: %d", &parent), 1);
    CHECK_EQUAL(parent, getppid());
    printf("files ok\n");
}

int main(void) {
    own = getpid();
    CHECK_EQUAL(syscall(SYS_sched_getaffinity, 0, sizeof cpus, cpus) > 0, 1);
    list();
    files();
    // Who is the superuser may do more, and with the host's process 1 that had better not be tried.
    if (geteuid() == 0) {
        CHECK_EQUAL(setresuid(NOBODY, NOBODY, NOBODY), 0);
    }
    ask("itself", own);
    ask("process 1", 1);
    ask("nobody", STRANGER);
    ask("no group", -4000000);
    return 0;
}
