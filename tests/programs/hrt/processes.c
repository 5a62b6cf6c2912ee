// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What a program makes by hadal/hrt.h belongs to the machine, which is the program's alone then: where there
// are other processes nothing can be made, and who has made something neither forks nor becomes another
// program. What both have without making it are words to wait on.

#define _GNU_SOURCE
#include "../common/check.h"

#include <hadal/hrt.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void fork_first(void) {
    pid_t child = fork();
    uint32_t key;
    if (child == 0) {
        _exit(hrt_key_create(&key, NULL) == HRT_ENOSYS ? 4 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 4);
    // However often it asks: no key is lost by that.
    for (int i = 0; i < 2 * HRT_KEYS_MAX; i++) {
        CHECK_EQUAL(hrt_key_create(&key, NULL), HRT_ENOSYS);
    }
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

// --- words

static uint32_t word;

static void *wait_for_word(void *at) { return (void *)(intptr_t)hrt_wait(at, 0, HRT_FOREVER, 0); }

static pthread_t waiter(uint32_t *at) {
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, wait_for_word, at), 0);
    // It sleeps, or will not be counted below.
    usleep(50000);
    return thread;
}

static void wake_one(pthread_t thread, uint32_t *at) {
    void *result;
    CHECK_EQUAL(hrt_wake(at, 1, 0), 1);
    CHECK_EQUAL(pthread_join(thread, &result), 0);
    CHECK(result == (void *)HRT_OK);
}

static void say(int to) { CHECK_EQUAL(write(to, "x", 1), 1); }

static void hear(int from) {
    char byte;
    CHECK_EQUAL(read(from, &byte, 1), 1);
}

// Parent and child wait on words at one address: each wakes its own thread, whoever waited first.
static void words(void) {
    int up[2], down[2];
    CHECK_EQUAL(pipe(up) | pipe(down), 0);
    pthread_t before = waiter(&word);
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread = waiter(&word);
        say(up[1]);
        hear(down[0]);
        wake_one(thread, &word);
        CHECK_EQUAL(hrt_wake(&word, 1, 0), 0);
        _exit(0);
    }
    CHECK(child > 0);
    hear(up[0]);
    // One that began to wait when the program was alone, and one since.
    wake_one(before, &word);
    CHECK_EQUAL(hrt_wake(&word, 9, 0), 0);
    wake_one(waiter(&word), &word);
    say(down[1]);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

struct meeting {
    uint32_t word;
    sem_t semaphore;
};

// Memory of hrt_alloc() is that of both, and so are its words, for hadal/hrt.h and for futexes.
static void shared_words(void) {
    struct meeting *meeting = hrt_alloc(sizeof *meeting, HRT_ZONE_ANY, HRT_ALLOC_ZERO);
    CHECK(meeting);
    CHECK_EQUAL(sem_init(&meeting->semaphore, 1, 0), 0);
    pid_t child = fork();
    if (child == 0) {
        CHECK_EQUAL(hrt_wait(&meeting->word, 0, HRT_FOREVER, 0), HRT_OK);
        CHECK_EQUAL(sem_wait(&meeting->semaphore), 0);
        _exit(0);
    }
    CHECK(child > 0);
    usleep(50000);
    CHECK_EQUAL(hrt_wake(&meeting->word, 1, 0), 1);
    usleep(50000);
    CHECK_EQUAL(sem_post(&meeting->semaphore), 0);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    hrt_free(meeting);
}

// --- memory

enum { BLOCK = 64 << 20, PROCESSES = 60 };

static char *block(void) {
    char *memory = hrt_alloc(BLOCK, HRT_ZONE_ANY, 0);
    CHECK(memory);
    memory[BLOCK - 1] = 'x';
    return memory;
}

static void expect_end(pid_t child, int expected) {
    int status;
    CHECK(child > 0);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECK_EQUAL(WEXITSTATUS(status), expected);
}

// Blocks that processes leave behind, together more than the machine has, go back with them.
static void memory(void) {
    char *early = hrt_alloc(100, HRT_ZONE_ANY, 0);
    for (int i = 0; i < PROCESSES; i++) {
        pid_t child = fork();
        if (child == 0) {
            block();
            if (i % 2 == 0) {
                // Another program.
                execl("/bin/true", "true", NULL);
            }
            _exit(0);
        }
        expect_end(child, 0);
    }
    // One that was there before there were processes is everybody's.
    CHECK_EQUAL(hrt_free(early), HRT_OK);
}

// A block is there for those who had it from their parent, and for nobody else.
static void shared_memory(void) {
    expect_end(system("exit 0") == 0 ? fork() ?: (_exit(0), 0) : -1, 0);
    int tell[2], ask[2];
    CHECK_EQUAL(pipe(tell) | pipe(ask), 0);
    pid_t parent = fork();
    if (parent == 0) {
        char *own = block(), *other = block();
        if (fork() == 0) {
            // The child, when its parent is gone.
            hear(ask[0]);
            CHECK_EQUAL(own[BLOCK - 1], 'x');
            CHECK_EQUAL(hrt_free(other), HRT_OK);
            CHECK_EQUAL(hrt_free(other), HRT_EINVAL);
            say(tell[1]);
            _exit(0);
        }
        CHECK_EQUAL(write(tell[1], &own, sizeof own), sizeof own);
        _exit(0);
    }
    char *theirs;
    CHECK_EQUAL(read(tell[0], &theirs, sizeof theirs), sizeof theirs);
    expect_end(parent, 0);
    CHECK_EQUAL(hrt_free(theirs), HRT_EINVAL);
    say(ask[1]);
    hear(tell[0]);
}

int main(int argc, char **argv) {
    static const struct part parts[] = {{"fork-first", fork_first}, {"make-first", make_first},
                                        {"words", words},           {"shared-words", shared_words},
                                        {"memory", memory},         {"shared-memory", shared_memory}};
    return run_parts(parts, sizeof parts / sizeof *parts, argc, argv);
}
