// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What a program makes by hadal/hrt.h belongs to the machine, which is the program's alone then: where there
// are other processes nothing can be made, and who has made something neither forks nor becomes another
// program.

#define _GNU_SOURCE
#include "../common/check.h"

#include <hadal/hrt.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static void fork_first(void) {
    pid_t child = fork();
    uint32_t key;
    if (child == 0) {
        _exit(hrt_key_create(&key, NULL) == HRT_ENOSYS ? 4 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 4);
    CHECK_EQUAL(hrt_key_create(&key, NULL), HRT_ENOSYS);
    // Still it may have processes.
    status = system("exit 5");
    CHECK_EQUAL(WEXITSTATUS(status), 5);
}

static void make_first(void) {
    uint32_t key;
    CHECK_EQUAL(hrt_key_create(&key, NULL), HRT_OK);
    CHECK_ERRNO(fork(), ENOSYS);
    CHECK_ERRNO(vfork(), ENOSYS);
    char *arguments[] = {"true", NULL};
    CHECK_ERRNO(execve("/bin/true", arguments, environ), ENOSYS);
    pid_t child;
    CHECK_EQUAL(posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ), ENOSYS);
    CHECK_EQUAL(hrt_key_set(key, &key), HRT_OK);
    CHECK(hrt_key_get(key) == &key);
}

int main(int argc, char **argv) {
    static const struct part parts[] = {{"fork-first", fork_first}, {"make-first", make_first}};
    return run_parts(parts, sizeof parts / sizeof *parts, argc, argv);
}
