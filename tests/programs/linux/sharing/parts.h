// SPDX-License-Identifier: Apache-2.0 OR MIT
// The parts of the set about processes that share files, paths and signal actions (CLONE_FILES, CLONE_FS,
// CLONE_SIGHAND). Linux says what is right.
#ifndef HADAL_TEST_SHARING_PARTS_H
#define HADAL_TEST_SHARING_PARTS_H

// Before any header.
#define _GNU_SOURCE
#include "../../common/check.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum { STACK = 64 << 10 };

static inline long raw(long number, long first, long second, long third) {
    long result;
    register long fourth __asm__("r10") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
}

// Makes a child as fork does, which shares what the flags say. Not for CLONE_VM.
static inline pid_t fork_with(unsigned long flags) {
    return (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
}

// Makes a child that runs a function on a stack of its own in the same memory. It has the caller's
// thread-local variables, so while both run only one of them may use errno.
static inline pid_t run_with(unsigned long flags, int (*act)(void *), void *stack) {
    return clone(act, (char *)stack + STACK, (int)flags | CLONE_VM | SIGCHLD, NULL);
}

static inline void *new_stack(void) {
    void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED);
    return stack;
}

static inline int exit_of(pid_t pid) {
    int status;
    CHECK_EQUAL(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static inline bool is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

// Two processes take turns: a step that both see.
extern atomic_int *step;

static inline void reach(int number) { atomic_store(step, number); }

static inline void await(int number) {
    // If the other one has failed nobody waits for ever.
    static const struct timespec pause = {.tv_nsec = 100000};
    for (int times = 0; atomic_load(step) < number; ++times) {
        if (times == 300000) {
            raw(SYS_exit_group, 97, 0, 0);
        }
        raw(SYS_nanosleep, (long)&pause, 0, 0);
    }
}

// Becomes this program again, to run what `another` names.
void become(const char *what);
int another(const char *what);

int count_descriptors(const char *directory);

void flags(void);
void files(void);
void copies(void);
void ends(void);
void locks(void);
void listings(void);
void paths(void);
void actions(void);
void pending(void);
void children(void);
void programs(void);
void unsharing(void);
void races(void);
void many(void);

#endif
