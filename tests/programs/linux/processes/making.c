// SPDX-License-Identifier: Apache-2.0 OR MIT
// Making processes, and waiting for them.
#include "parts.h"

#include <signal.h>
#include <sys/wait.h>

void basics(void) {
    static int global = 1;
    int *heap = malloc(sizeof *heap);
    *heap = 10;
    pid_t parent = getpid();
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(getpid() != parent && getppid() == parent && gettid() == getpid());
        global += 1;
        *heap += 1;
        _exit(global + *heap);
    }
    CHECK_EQUAL(exit_of(child), 13);
    CHECK(global == 1 && *heap == 10);
    CHECK_ERRNO(wait(NULL), ECHILD);
    CHECK_ERRNO(waitpid(child, NULL, 0), ECHILD);
    CHECK_ERRNO(kill(child, 0), ESRCH);
    // Ends by signals.
    int signals[] = {SIGKILL, SIGTERM, SIGINT, SIGUSR2};
    for (size_t index = 0; index < sizeof signals / sizeof *signals; ++index) {
        child = fork();
        if (child == 0) {
            kill(getpid(), signals[index]);
            pause();
        }
        int status = status_of(child);
        CHECK(WIFSIGNALED(status));
        CHECK_EQUAL(WTERMSIG(status), signals[index]);
    }
    free(heap);
}

void waiting(void) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t slow = fork();
    if (slow == 0) {
        char byte;
        CHECK(read(ends[0], &byte, 1) == 1);
        _exit(byte);
    }
    CHECK_EQUAL(waitpid(slow, NULL, WNOHANG), 0);
    CHECK_EQUAL(waitpid(-1, NULL, WNOHANG), 0);
    siginfo_t info;
    memset(&info, 1, sizeof info);
    CHECK(waitid(P_PID, slow, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0);
    pid_t quick = fork();
    if (quick == 0) {
        _exit(5);
    }
    int status;
    CHECK_EQUAL(wait(&status), quick);
    CHECK_EQUAL(WEXITSTATUS(status), 5);
    CHECK(write(ends[1], "\x2a", 1) == 1);
    CHECK(waitid(P_PID, slow, &info, WEXITED | WNOWAIT) == 0);
    CHECK(info.si_pid == slow && info.si_code == CLD_EXITED && info.si_status == 42 &&
          info.si_signo == SIGCHLD);
    CHECK(kill(slow, 0) == 0);
    CHECK(waitid(P_ALL, 0, &info, WEXITED) == 0 && info.si_pid == slow);
    CHECK_ERRNO(waitid(P_ALL, 0, &info, WEXITED), ECHILD);
    CHECK_ERRNO(waitid(P_ALL, 0, &info, 0), EINVAL);
    CHECK_ERRNO(waitid(99, 0, &info, WEXITED), EINVAL);
    CHECK_ERRNO(waitpid(-1, NULL, 0x40000), EINVAL);
    close(ends[0]);
    close(ends[1]);
}

void many(void) {
    pid_t ids[SEQUENCE];
    for (int index = 0; index < SEQUENCE; ++index) {
        pid_t child = fork();
        if (child == 0) {
            _exit(index & 0x7f);
        }
        CHECK_EQUAL(exit_of(child), index & 0x7f);
        // What remembers a child by its id, as a shell does, must not take another for it.
        for (int before = 0; before < index; ++before) {
            CHECK(ids[before] != child);
        }
        ids[index] = child;
    }
    pid_t children[AT_ONCE];
    for (int index = 0; index < AT_ONCE; ++index) {
        children[index] = fork();
        if (children[index] == 0) {
            usleep(1000);
            _exit(index);
        }
    }
    for (int index = AT_ONCE - 1; index >= 0; --index) {
        CHECK_EQUAL(exit_of(children[index]), index);
    }
    // A chain, each the parent of the next.
    pid_t child = fork();
    if (child == 0) {
        int depth = 0;
        while (depth < 20) {
            pid_t next = fork();
            if (next != 0) {
                _exit(exit_of(next) + 1);
            }
            ++depth;
        }
        _exit(0);
    }
    CHECK_EQUAL(exit_of(child), 20);
}
