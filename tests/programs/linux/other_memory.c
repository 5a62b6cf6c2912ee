// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Memory of other processes: process_vm_readv and process_vm_writev.
#define _GNU_SOURCE
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "../common/check.h"

enum { PAGE = 4096, PAGES = 64 };

static char *area;
static int to_child[2], to_parent[2];

static void say(int pipe) { CHECK_EQUAL(write(pipe, "x", 1), 1); }

static void hear(int pipe) {
    char byte;
    CHECK_EQUAL(read(pipe, &byte, 1), 1);
}

static char content(size_t at) { return (char)(at / PAGE * 7 + at % 251); }

// A child that fills the area anew, waits, and checks what was written to it; page 40 is read-only, 50 is
// gone.
static pid_t child_with_area(uid_t uid, int dumpable) {
    CHECK(pipe(to_child) == 0 && pipe(to_parent) == 0);
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (uid != 0) {
            CHECK(setgid(uid) == 0 && setuid(uid) == 0);
        }
        CHECK_EQUAL(prctl(PR_SET_DUMPABLE, dumpable), 0);
        for (size_t at = 0; at < 45 * PAGE; at++) {
            area[at] = content(at);
        }
        CHECK_EQUAL(mprotect(area + 40 * PAGE, PAGE, PROT_READ), 0);
        CHECK_EQUAL(munmap(area + 50 * PAGE, PAGE), 0);
        say(to_parent[1]);
        hear(to_child[0]);
        _exit(area[3] == 'w' && area[PAGE] == 'w' && area[PAGE - 1] == 'w' && area[48 * PAGE] == 'w' ? 7 : 8);
    }
    hear(to_parent[0]);
    return child;
}

static int end_of(pid_t child) {
    int status = 0;
    say(to_child[1]);
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    for (int i = 0; i < 2; i++) {
        close(to_child[i]);
        close(to_parent[i]);
    }
    return WEXITSTATUS(status);
}

static struct iovec range(void *base, size_t length) { return (struct iovec){base, length}; }

static void reading(void) {
    pid_t child = child_with_area(0, 1);
    static char copy[PAGES * PAGE];
    struct iovec local = range(copy, sizeof copy), remote = range(area, 45 * PAGE);
    CHECK_EQUAL(process_vm_readv(child, &local, 1, &remote, 1, 0), 45 * PAGE);
    for (size_t at = 0; at < 45 * PAGE; at++) {
        CHECK_EQUAL(copy[at], content(at));
    }
    // The own area is another one.
    CHECK_EQUAL(area[5], 0);
    // Pages that nobody has touched, up to one that is not there.
    remote = range(area + 44 * PAGE, 20 * PAGE);
    memset(copy, 1, sizeof copy);
    CHECK_EQUAL(process_vm_readv(child, &local, 1, &remote, 1, 0), 6 * PAGE);
    CHECK_EQUAL(copy[PAGE], 0);
    CHECK_EQUAL(copy[6 * PAGE], 1);
    remote = range(area + 50 * PAGE, 10);
    CHECK_ERRNO(process_vm_readv(child, &local, 1, &remote, 1, 0), EFAULT);
    // Many parts on both sides.
    struct iovec here[3] = {range(copy, 10), range(copy + 100, 0), range(copy + 20, PAGE)};
    struct iovec there[2] = {range(area + PAGE - 7, 17), range(area + 9 * PAGE + 5, 300)};
    CHECK_EQUAL(process_vm_readv(child, here, 3, there, 2, 0), 317);
    for (size_t at = 0; at < 317; at++) {
        size_t from = at < 17 ? PAGE - 7 + at : 9 * PAGE + 5 + at - 17;
        CHECK_EQUAL(copy[at < 10 ? at : at + 10], content(from));
    }
    // The buffer ends before the data.
    remote = range(area, 100);
    local = range(copy, 5);
    CHECK_EQUAL(process_vm_readv(child, &local, 1, &remote, 1, 0), 5);
    local = range((void *)8, 5);
    CHECK_ERRNO(process_vm_readv(child, &local, 1, &remote, 1, 0), EFAULT);
    local = range(copy, 5);
    CHECK_ERRNO(process_vm_readv(child, &local, 1, &remote, 1, 1), EINVAL);
    CHECK_ERRNO(process_vm_readv(child, &local, 1025, &remote, 1, 0), EINVAL);
    CHECK_ERRNO(process_vm_readv(child, &local, 1, &remote, 1025, 0), EINVAL);
    CHECK_ERRNO(process_vm_readv(child, (void *)8, 1, &remote, 1, 0), EFAULT);
    CHECK_ERRNO(process_vm_readv(child, &local, 1, (void *)8, 1, 0), EFAULT);
    CHECK_EQUAL(process_vm_readv(child, &local, 0, &remote, 1, 0), 0);
    CHECK_EQUAL(process_vm_readv(child, &local, 1, &remote, 0, 0), 0);
    CHECK_ERRNO(process_vm_readv(INT_MAX, &local, 1, &remote, 1, 0), ESRCH);
    CHECK_ERRNO(process_vm_readv(-1, &local, 1, &remote, 1, 0), ESRCH);
    CHECK_EQUAL(end_of(child), 8);
    CHECK_ERRNO(process_vm_readv(child, &local, 1, &remote, 1, 0), ESRCH);
}

static void writing(void) {
    pid_t child = child_with_area(0, 1);
    char text[2 * PAGE];
    memset(text, 'w', sizeof text);
    struct iovec local = range(text, 1), remote = range(area + 3, 1);
    CHECK_EQUAL(process_vm_writev(child, &local, 1, &remote, 1, 0), 1);
    local = range(text, 2);
    remote = range(area + PAGE - 1, 2);
    CHECK_EQUAL(process_vm_writev(child, &local, 1, &remote, 1, 0), 2);
    remote = range(area + 48 * PAGE, 2 * PAGE);
    CHECK_EQUAL(process_vm_writev(child, &local, 1, &remote, 1, 0), 2);
    // Up to a page that may only be read.
    local = range(text, sizeof text);
    remote = range(area + 39 * PAGE + 100, 2 * PAGE);
    CHECK_EQUAL(process_vm_writev(child, &local, 1, &remote, 1, 0), PAGE - 100);
    remote = range(area + 40 * PAGE, 1);
    CHECK_ERRNO(process_vm_writev(child, &local, 1, &remote, 1, 0), EFAULT);
    CHECK_EQUAL(area[3], 0);
    CHECK_EQUAL(end_of(child), 7);
    // And to itself.
    remote = range(area + 1, 1);
    CHECK_EQUAL(process_vm_writev(getpid(), &local, 1, &remote, 1, 0), 1);
    CHECK_EQUAL(area[1], 'w');
    area[1] = 0;
}

static void rights(void) {
    if (geteuid() != 0) {
        return;
    }
    pid_t other = child_with_area(1234, 1);
    int others[4] = {to_child[0], to_child[1], to_parent[0], to_parent[1]};
    pid_t hidden = child_with_area(1235, 0);
    fflush(stdout);
    pid_t looks = fork();
    if (looks == 0) {
        char byte;
        struct iovec local = range(&byte, 1), remote = range(area, 1);
        CHECK(setgid(1235) == 0 && setuid(1235) == 0);
        CHECK_ERRNO(process_vm_readv(other, &local, 1, &remote, 1, 0), EPERM);
        CHECK_ERRNO(process_vm_writev(other, &local, 1, &remote, 1, 0), EPERM);
        CHECK_ERRNO(process_vm_readv(hidden, &local, 1, &remote, 1, 0), EPERM);
        CHECK_ERRNO(process_vm_readv(1, &local, 1, &remote, 1, 0), EPERM);
        CHECK_EQUAL(process_vm_readv(getpid(), &local, 1, &remote, 1, 0), 1);
        _exit(0);
    }
    int status = -1;
    CHECK_EQUAL(waitpid(looks, &status, 0), looks);
    CHECK_EQUAL(status, 0);
    CHECK_EQUAL(end_of(hidden), 8);
    to_child[0] = others[0];
    to_child[1] = others[1];
    to_parent[0] = others[2];
    to_parent[1] = others[3];
    CHECK_EQUAL(end_of(other), 8);
}

// A process whose memory changes all the time is read until it ends.
static void changing(void) {
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        for (;;) {
            memset(area, 5, 16 * PAGE);
            CHECK_EQUAL(madvise(area, 16 * PAGE, MADV_DONTNEED), 0);
            CHECK_EQUAL(mprotect(area + 4 * PAGE, PAGE, PROT_NONE), 0);
            CHECK_EQUAL(mprotect(area + 4 * PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
        }
    }
    // At a page, so that a page is copied at once.
    static _Alignas(PAGE) char copy[16 * PAGE];
    struct iovec local = range(copy, sizeof copy), remote = range(area, sizeof copy);
    for (int i = 0; i < 300; i++) {
        long got = process_vm_readv(child, &local, 1, &remote, 1, 0);
        CHECK(got > 0 && got % PAGE == 0);
        for (long at = 0; at < got; at++) {
            CHECK(copy[at] == 0 || copy[at] == 5);
        }
        if (i == 250) {
            kill(child, SIGKILL);
            int status = 0;
            CHECK_EQUAL(waitpid(child, &status, 0), child);
            CHECK_ERRNO(process_vm_readv(child, &local, 1, &remote, 1, 0), ESRCH);
            return;
        }
    }
}

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"reading", reading}, {"writing", writing}, {"rights", rights}, {"changing", changing}};
    area = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    return run_parts(parts, sizeof parts / sizeof *parts, argc, argv);
}
