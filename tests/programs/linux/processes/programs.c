// SPDX-License-Identifier: Apache-2.0 OR MIT
// Processes that get another program, alone or beside others in their memory.
#include "parts.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern char **environ;

// musl has no header of the kernel's for them.
enum { WAIT_ON_WORD = 0, WAKE_ON_WORD = 1, OWN_WORD = 128 };

void programs(void) {
    pid_t child = vfork();
    if (child == 0) {
        execlp("sh", "sh", "-c", "exit 9", NULL);
        _exit(1);
    }
    CHECK_EQUAL(exit_of(child), 9);
    child = vfork();
    if (child == 0) {
        _exit(8);
    }
    CHECK_EQUAL(exit_of(child), 8);
    char *arguments[] = {"sh", "-c", "exit $#", "a", "b", "c", NULL};
    CHECK(posix_spawnp(&child, "sh", NULL, NULL, arguments, environ) == 0);
    CHECK_EQUAL(exit_of(child), 2);
    CHECK_EQUAL(posix_spawn(&child, "/no/such/file", NULL, NULL, arguments, environ), ENOENT);
    int status = system("exit 6");
    CHECK_EQUAL(WEXITSTATUS(status), 6);
    fflush(stdout);
    FILE *words = popen("printf 'c\\nb\\na\\n' | sort | tr '\\n' ' '", "r");
    char line[100] = "";
    CHECK(words != NULL && fgets(line, sizeof line, words) != NULL && strcmp(line, "a b c ") == 0);
    CHECK(pclose(words) == 0);
}

// Arguments as long as Linux takes them, whatever the stack's limit, can be read in /proc.
void texts(void) {
    enum { LENGTH = 100000, MOST = 70 };
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_STACK, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    CHECK(setrlimit(RLIMIT_STACK, &limit) == 0);
    char *text = malloc(LENGTH + 1), *arguments[MOST + 1];
    memset(text, 'a', LENGTH), text[LENGTH] = 0;
    arguments[0] = "sh", arguments[1] = "-c", arguments[2] = "cat /proc/$$/cmdline | wc -c";
    for (int count = 40; count <= MOST; count += MOST - 40) {
        for (int index = 3; index < count; ++index) {
            arguments[index] = text;
        }
        arguments[count] = NULL;
        int ends[2];
        CHECK(pipe(ends) == 0);
        pid_t child = fork();
        if (child == 0) {
            dup2(ends[1], 1);
            execvp("sh", arguments);
            _exit(errno == E2BIG ? 7 : 8);
        }
        close(ends[1]);
        char line[20] = "";
        ssize_t len = read(ends[0], line, sizeof line - 1);
        close(ends[0]);
        CHECK_EQUAL(exit_of(child), count == MOST ? 7 : 0);
        if (count == MOST) {
            CHECK_EQUAL(len, 0);
        } else {
            CHECK_EQUAL(atol(line), 3 + 3 + 29 + (count - 3) * (LENGTH + 1L));
        }
    }
    free(text);
}

static pid_t clone_with(unsigned long flags) {
    return (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
}

// Makes a pipe that is closed by execve.
static void make_mark(int ends[2]) { CHECK(pipe2(ends, O_CLOEXEC) == 0); }

// Waits until everybody else has closed a pipe.
static void await_end(int ends[2]) {
    char byte;
    close(ends[1]);
    CHECK_EQUAL(read(ends[0], &byte, 1), 0);
    close(ends[0]);
}

static char clone_stack[1 << 16] __attribute__((aligned(16)));

static int become_sleep(void *argument) {
    (void)argument;
    execlp("sleep", "sleep", "100", NULL);
    _exit(1);
}

void replacing(void) {
    // The end of a program is told by SIGCHLD, whatever its process was to send.
    int mark[2];
    make_mark(mark);
    pid_t child = clone_with(0);
    if (child == 0) {
        execlp("sh", "sh", "-c", "exit 7", NULL);
        _exit(1);
    }
    await_end(mark);
    CHECK_EQUAL(exit_of(child), 7);
    // It leaves its robust locks without an owner.
    pthread_mutex_t *lock = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(lock != MAP_FAILED);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(lock, &attributes);
    make_mark(mark);
    child = fork();
    if (child == 0) {
        pthread_mutex_lock(lock);
        execlp("sleep", "sleep", "100", NULL);
        _exit(1);
    }
    await_end(mark);
    CHECK_EQUAL(pthread_mutex_lock(lock), EOWNERDEAD);
    CHECK(pthread_mutex_consistent(lock) == 0 && pthread_mutex_unlock(lock) == 0);
    CHECK(kill(child, SIGKILL) == 0);
    CHECK_EQUAL(WTERMSIG(status_of(child)), SIGKILL);
    munmap(lock, PAGE);
    // In memory that it shares with others it tells that it has left.
    static atomic_int id = 777;
    child = clone(become_sleep, clone_stack + sizeof clone_stack, CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD,
                  NULL, NULL, NULL, &id);
    CHECK(child > 0);
    // It wakes who waits for that.
    syscall(SYS_futex, &id, WAIT_ON_WORD, 777, NULL, NULL, 0);
    CHECK_EQUAL(atomic_load(&id), 0);
    CHECK(kill(child, SIGKILL) == 0);
    CHECK_EQUAL(WTERMSIG(status_of(child)), SIGKILL);
}

// What a guest in another process's memory has found, for all to see.
struct found {
    atomic_int outcome;
};

static struct found *found;
static int guest_mark[2];
static volatile long in_memory;

static int stay_as_guest(void *argument) {
    await_end(guest_mark);
    long *block = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *block = in_memory;
    in_memory += 1;
    atomic_store(&found->outcome, *block == 77 && in_memory == 78 && argument == &in_memory ? 1 : 2);
    _exit(0);
}

static void *spawn_on(void *argument) {
    char *arguments[] = {"true", NULL};
    for (pid_t child;;) {
        if (posix_spawnp(&child, "true", NULL, NULL, arguments, environ) == 0) {
            waitpid(child, NULL, 0);
        }
    }
    return argument;
}

static atomic_int word;

static int wake_host(void *argument) {
    // Again and again: the host may not wait yet.
    do {
        usleep(1000);
    } while (syscall(SYS_futex, &word, WAKE_ON_WORD | OWN_WORD, 1, NULL, NULL, 0) == 0);
    _exit(argument == NULL ? 0 : 1);
}

// A process gets another program while others run in its memory, which they keep.
void guests(void) {
    // They wait on the same words.
    pid_t waker = clone(wake_host, clone_stack + sizeof clone_stack, CLONE_VM | SIGCHLD, NULL);
    CHECK(waker > 0);
    CHECK_EQUAL(syscall(SYS_futex, &word, WAIT_ON_WORD | OWN_WORD, 0, NULL, NULL, 0), 0);
    CHECK_EQUAL(exit_of(waker), 0);
    found = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(found != MAP_FAILED);
    for (int round = 0; round < 10; ++round) {
        atomic_store(&found->outcome, 0);
        int all[2];
        CHECK(pipe(all) == 0);
        pid_t child = fork();
        if (child == 0) {
            close(all[0]);
            in_memory = 77;
            make_mark(guest_mark);
            CHECK(clone(stay_as_guest, clone_stack + sizeof clone_stack, CLONE_VM | SIGCHLD,
                        (void *)&in_memory) > 0);
            execlp("sh", "sh", "-c", "exit 5", NULL);
            _exit(1);
        }
        CHECK_EQUAL(exit_of(child), 5);
        await_end(all);
        CHECK_EQUAL(atomic_load(&found->outcome), 1);
    }
    munmap(found, PAGE);
    for (int round = 0; round < 20; ++round) {
        int all[2];
        CHECK(pipe(all) == 0);
        pid_t child = fork();
        if (child == 0) {
            close(all[0]);
            pthread_t threads[3];
            for (int index = 0; index < 3; ++index) {
                CHECK(pthread_create(&threads[index], NULL, spawn_on, NULL) == 0);
            }
            usleep(2000 + (unsigned)round * 700);
            execlp("sh", "sh", "-c", "exit 4", NULL);
            _exit(1);
        }
        CHECK_EQUAL(exit_of(child), 4);
        await_end(all);
    }
}

enum { HOSTS = 8 };

static atomic_int guests_there;

static int outlive_host(void *argument) {
    atomic_fetch_add(&guests_there, 1);
    await_end(guest_mark);
    _exit(argument == NULL ? 1 : 0);
}

static void *host(void *stack) {
    clone(outlive_host, (char *)stack + (1 << 14), CLONE_VM | CLONE_VFORK | SIGCHLD, stack);
    // One that goes on takes its guest's stack away, as posix_spawn does.
    atomic_store(&found->outcome, 3);
    return NULL;
}

// A process gets another program while threads of the old one wait for guests to leave: none of these threads
// goes on.
void hosts(void) {
    found = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(found != MAP_FAILED);
    for (int round = 0; round < 40; ++round) {
        int all[2];
        CHECK(pipe(all) == 0);
        pid_t child = fork();
        if (child == 0) {
            static char stacks[HOSTS][1 << 14] __attribute__((aligned(16)));
            close(all[0]);
            make_mark(guest_mark);
            for (int index = 0; index < HOSTS; ++index) {
                pthread_t thread;
                CHECK(pthread_create(&thread, NULL, host, stacks[index]) == 0);
            }
            // A host that is back already has none, or left it: that is told below.
            while (atomic_load(&guests_there) != HOSTS && atomic_load(&found->outcome) == 0) {
                sched_yield();
            }
            execlp("true", "true", NULL);
            _exit(1);
        }
        CHECK_EQUAL(exit_of(child), 0);
        await_end(all);
    }
    CHECK_EQUAL(atomic_load(&found->outcome), 0);
    munmap(found, PAGE);
}
