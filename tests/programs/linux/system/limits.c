// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Random numbers, limits, names, scheduling: values that are checked against each other, not printed.

#define _GNU_SOURCE
#include "set.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

void part_random(void) {
    unsigned char one[64];
    unsigned char two[64];
    CHECK_EQUAL(getrandom(one, sizeof one, 0), sizeof one);
    CHECK_EQUAL(getrandom(two, sizeof two, GRND_NONBLOCK), sizeof two);
    CHECK(memcmp(one, two, sizeof one) != 0);
    int device = open("/dev/urandom", O_RDONLY);
    CHECK(device >= 0);
    CHECK_EQUAL(read(device, one, sizeof one), sizeof one);
    CHECK(memcmp(one, two, sizeof one) != 0);
    CHECK_EQUAL(close(device), 0);
    CHECK_ERRNO(getrandom(one, sizeof one, 0x80), EINVAL);
}

void part_limits(void) {
    struct rlimit limit;
    CHECK_EQUAL(getrlimit(RLIMIT_STACK, &limit), 0);
    CHECK(limit.rlim_cur >= 1 << 20);
    CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
    CHECK(limit.rlim_cur >= 256);
    struct utsname name;
    CHECK_EQUAL(uname(&name), 0);
    CHECK_EQUAL(strcmp(name.sysname, "Linux"), 0);
    CHECK_EQUAL(strcmp(name.machine, "x86_64"), 0);
    CHECK(atoi(name.release) >= 5);
    struct sysinfo info;
    CHECK_EQUAL(sysinfo(&info), 0);
    CHECK(info.totalram > 0 && info.freeram <= info.totalram && info.mem_unit >= 1);
    CHECK(sysconf(_SC_PHYS_PAGES) > 0);
    struct rusage usage;
    CHECK_EQUAL(getrusage(RUSAGE_SELF, &usage), 0);
    char text[16];
    CHECK_EQUAL(prctl(PR_SET_NAME, "a-test"), 0);
    CHECK_EQUAL(prctl(PR_GET_NAME, text), 0);
    CHECK_EQUAL(strcmp(text, "a-test"), 0);
    // A call that no kernel has.
    CHECK_ERRNO(syscall(5000, 1, 2, 3), ENOSYS);
    CHECK_ERRNO(syscall(SYS_arch_prctl, 0x3001, text), EINVAL);
}

void part_threads(void) {
    // The name of a thread, and a file that shows it.
    char name[32];
    CHECK_EQUAL(pthread_setname_np(pthread_self(), "renamed"), 0);
    CHECK_EQUAL(pthread_getname_np(pthread_self(), name, sizeof name), 0);
    CHECK_EQUAL(strcmp(name, "renamed"), 0);
    unsigned cpu;
    unsigned node;
    CHECK_EQUAL(syscall(SYS_getcpu, &cpu, &node, NULL), 0);
    CHECK(cpu < (unsigned)sysconf(_SC_NPROCESSORS_CONF));
    CHECK_EQUAL(sched_yield(), 0);
    struct sched_param parameters;
    CHECK_EQUAL(sched_getscheduler(0), SCHED_OTHER);
    CHECK_EQUAL(sched_getparam(0, &parameters), 0);
    CHECK_EQUAL(parameters.sched_priority, 0);
    CHECK_EQUAL(sched_get_priority_max(SCHED_FIFO), 99);
    CHECK_EQUAL(sched_get_priority_min(SCHED_FIFO), 1);
}
