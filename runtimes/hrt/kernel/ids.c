// SPDX-License-Identifier: Apache-2.0 OR MIT
// User and group ids. Those of Linux are a thread's, so libc changes them in one thread after the other, by a
// signal that slots without work do not take. Those of Hadal are the process's: one system call is enough.
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KEEP ((unsigned)-1)

int setuid(uid_t id) { return (int)syscall(SYS_setuid, id); }
int setgid(gid_t id) { return (int)syscall(SYS_setgid, id); }
int setreuid(uid_t real, uid_t effective) { return (int)syscall(SYS_setreuid, real, effective); }
int setregid(gid_t real, gid_t effective) { return (int)syscall(SYS_setregid, real, effective); }
int setresuid(uid_t real, uid_t effective, uid_t saved) {
    return (int)syscall(SYS_setresuid, real, effective, saved);
}
int setresgid(gid_t real, gid_t effective, gid_t saved) {
    return (int)syscall(SYS_setresgid, real, effective, saved);
}
int setgroups(size_t count, const gid_t *groups) { return (int)syscall(SYS_setgroups, count, groups); }

static int set_effective(long call, unsigned id) {
    if (id == KEEP) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(call, KEEP, id, KEEP);
}
int seteuid(uid_t id) { return set_effective(SYS_setresuid, id); }
int setegid(gid_t id) { return set_effective(SYS_setresgid, id); }
