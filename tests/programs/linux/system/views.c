// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The views of the program and the machine in /proc and /sys, against what calls tell.

#define _GNU_SOURCE
#include "set.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>

static long read_file(const char *path, char *buffer, size_t size) {
    int file = open(path, O_RDONLY);
    if (file < 0) {
        fprintf(stderr, "cannot open %s\n", path);
    }
    CHECK(file >= 0);
    size_t length = 0;
    ssize_t got;
    while (length < size - 1 && (got = read(file, buffer + length, size - 1 - length)) > 0) {
        length += (size_t)got;
    }
    buffer[length] = '\0';
    CHECK_EQUAL(close(file), 0);
    return (long)length;
}

static int count_of(const char *text, const char *word) {
    int count = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        count++;
    }
    return count;
}

/* Who closes descriptors while it lists them misses none. */
static void close_while_listing(void) {
    enum { FIRST = 100, FILES = 60 };
    for (int fd = FIRST; fd < FIRST + FILES; fd++) {
        CHECK_EQUAL(fcntl(STDIN_FILENO, F_DUPFD, fd), fd);
    }
    int directory = open("/proc/self/fd", O_RDONLY | O_DIRECTORY);
    int closed = 0;
    char buffer[200];
    long length;
    while ((length = syscall(SYS_getdents64, directory, buffer, sizeof buffer)) > 0) {
        for (long at = 0; at < length; at += *(unsigned short *)(buffer + at + 16)) {
            int fd = atoi(buffer + at + 19);
            if (fd >= FIRST && fd < FIRST + FILES) {
                CHECK_EQUAL(close(fd), 0);
                closed++;
            }
        }
    }
    CHECK_EQUAL(length, 0);
    CHECK_EQUAL(closed, FILES);
    // Reading goes on behind the entry that a position names.
    CHECK_EQUAL(lseek(directory, 0, SEEK_SET), 0);
    CHECK(syscall(SYS_getdents64, directory, buffer, sizeof buffer) > 0);
    CHECK_EQUAL(close(directory), 0);
}

void part_proc(void) {
    close_while_listing();
    static char text[1 << 20];
    char path[PATH_MAX];
    long length = readlink("/proc/self/exe", path, sizeof path - 1);
    CHECK(length > 0);
    path[length] = '\0';
    CHECK(strstr(path, "system") != NULL && path[0] == '/');

    CHECK(read_file("/proc/self/maps", text, sizeof text) > 0);
    CHECK(count_of(text, "[stack]") == 1);
    CHECK(count_of(text, path) >= 2);
    // A line of the map holds the address of this function and says that it may run.
    int found = 0;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        unsigned long from;
        unsigned long to;
        char rights[8];
        CHECK_EQUAL(sscanf(line, "%lx-%lx %4s", &from, &to, rights), 3);
        CHECK(from < to);
        if (from <= (uintptr_t)part_proc && (uintptr_t)part_proc < to) {
            CHECK_EQUAL(strcmp(rights, "r-xp"), 0);
            found++;
        }
    }
    CHECK_EQUAL(found, 1);

    CHECK(read_file("/proc/cpuinfo", text, sizeof text) > 0);
    CHECK_EQUAL(count_of(text, "processor\t"), sysconf(_SC_NPROCESSORS_ONLN));
    CHECK(count_of(text, "vendor_id") >= 1 && count_of(text, "flags") >= 1 &&
          count_of(text, "model name") >= 1);
    CHECK(strstr(text, " sse2 ") != NULL);
    CHECK(read_file("/proc/meminfo", text, sizeof text) > 0);
    CHECK(strstr(text, "MemTotal:") != NULL && strstr(text, "MemFree:") != NULL);
    CHECK(strstr(text, "MemAvailable:") != NULL);
    CHECK(read_file("/proc/self/status", text, sizeof text) > 0);
    CHECK(strstr(text, "Threads:\t1\n") != NULL && strstr(text, "VmRSS:") != NULL);
    CHECK(strstr(text, "Cpus_allowed:") != NULL);
    CHECK(read_file("/proc/self/cmdline", text, sizeof text) > 0);
    CHECK(strstr(text, "system") != NULL);
    CHECK(read_file("/proc/self/stat", text, sizeof text) > 0);
    CHECK_EQUAL(atoi(text), getpid());
    snprintf(path, sizeof path, "/proc/%d/status", getpid());
    CHECK(read_file(path, text, sizeof text) > 0);
    CHECK(access("/proc/self/fd/1", F_OK) == 0);
    CHECK_ERRNO(open("/proc/self/none", O_RDONLY), ENOENT);
}

void part_sys(void) {
    char text[4096];
    char path[200];
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    CHECK(online >= 1);
    CHECK(sysconf(_SC_NPROCESSORS_CONF) >= online);
    cpu_set_t set;
    CHECK_EQUAL(sched_getaffinity(0, sizeof set, &set), 0);
    CHECK_EQUAL(CPU_COUNT(&set), online);
    long bytes = syscall(SYS_sched_getaffinity, 0, sizeof set, &set);
    CHECK(bytes >= 8 && bytes % 8 == 0);
    CHECK_ERRNO(syscall(SYS_sched_getaffinity, 0, 1, &set), EINVAL);
    CHECK_ERRNO(sched_getaffinity(999999, sizeof set, &set), ESRCH);
    CHECK(read_file("/sys/devices/system/cpu/online", text, sizeof text) > 0);
    if (online == 1) {
        CHECK_EQUAL(strcmp(text, "0\n"), 0);
    } else {
        CHECK_EQUAL(memcmp(text, "0-", 2), 0);
        CHECK_EQUAL(atol(text + 2), online - 1);
    }
    CHECK(read_file("/sys/devices/system/cpu/possible", text, sizeof text) > 0);
    for (long cpu = 0; cpu < online; cpu++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/topology/core_id", cpu);
        CHECK(read_file(path, text, sizeof text) > 0);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/topology/thread_siblings_list", cpu);
        CHECK(read_file(path, text, sizeof text) > 0);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/topology/physical_package_id", cpu);
        CHECK(read_file(path, text, sizeof text) > 0);
    }
    CHECK(read_file("/sys/devices/system/node/online", text, sizeof text) > 0);
    CHECK(read_file("/sys/devices/system/node/node0/cpulist", text, sizeof text) > 0);
    CHECK(read_file("/sys/devices/system/node/node0/meminfo", text, sizeof text) > 0);
    CHECK(read_file("/sys/devices/system/node/node0/distance", text, sizeof text) > 0);
    CHECK_EQUAL(atoi(text), 10);
    CHECK(read_file("/sys/class/net/lo/address", text, sizeof text) > 0);
    CHECK_EQUAL(strcmp(text, "00:00:00:00:00:00\n"), 0);
    CHECK(read_file("/sys/class/net/lo/type", text, sizeof text) > 0);
    CHECK_EQUAL(atoi(text), 772);
    CHECK(read_file("/sys/devices/virtual/net/lo/mtu", text, sizeof text) > 0);
    CHECK(read_file("/sys/class/net/lo/statistics/rx_packets", text, sizeof text) > 0);
}
