// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Processes that are killed at any moment, and processes that make others without end, beside neighbours who
// go on: what those compute stays right, and the machine is as it was.

// Before any header.
#define _GNU_SOURCE
#include "../common/check.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { NEIGHBOURS = 2, VICTIMS = 120, WORDS = 64 << 10, MOST_OF_USER = 40, LONE_USER = 54321 };

static atomic_bool *over;

static uint32_t next(uint32_t *state) {
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

static uint32_t fill(uint32_t *words, uint32_t seed) {
    uint32_t sum = 0;
    for (int i = 0; i < WORDS; i++) {
        words[i] = next(&seed);
        sum = sum * 31 + words[i];
    }
    return sum;
}

static uint32_t sum_of(const uint32_t *words) {
    uint32_t sum = 0;
    for (int i = 0; i < WORDS; i++) {
        sum = sum * 31 + words[i];
    }
    return sum;
}

static void *new_words(int sharing) {
    void *words =
        mmap(NULL, WORDS * sizeof(uint32_t), PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
    CHECK(words != MAP_FAILED);
    return words;
}

// Fills memory, shares it with a child that writes to its copy, passes it through a pipe; until told to end.
static void neighbour(uint32_t seed) {
    uint32_t *own = new_words(MAP_PRIVATE), *shared = new_words(MAP_SHARED), *back = new_words(MAP_PRIVATE);
    while (!atomic_load(over)) {
        uint32_t sum = fill(own, ++seed);
        fill(shared, seed);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            CHECK_EQUAL(sum_of(own), sum);
            memset(own, 0xff, WORDS * sizeof *own / 2);
            CHECK_EQUAL(sum_of(shared), sum);
            shared[7] ^= 1;
            _exit(0);
        }
        int status, ends[2];
        CHECK_EQUAL(waitpid(child, &status, 0), child);
        CHECK_EQUAL(status, 0);
        CHECK_EQUAL(sum_of(own), sum);
        shared[7] ^= 1;
        CHECK_EQUAL(sum_of(shared), sum);
        CHECK_EQUAL(pipe(ends), 0);
        for (int at = 0; at < WORDS; at += 1024) {
            CHECK_EQUAL(write(ends[1], own + at, 4096), 4096);
            CHECK_EQUAL(read(ends[0], back + at, 4096), 4096);
        }
        close(ends[0]), close(ends[1]);
        CHECK_EQUAL(sum_of(back), sum);
    }
    _exit(0);
}

static void begin_neighbours(pid_t *pids) {
    over = new_words(MAP_SHARED);
    for (uint32_t i = 0; i < NEIGHBOURS; i++) {
        pids[i] = fork();
        CHECK(pids[i] >= 0);
        if (pids[i] == 0) {
            neighbour(i * 1000);
        }
    }
}

static void end_neighbours(const pid_t *pids) {
    atomic_store(over, true);
    for (int i = 0; i < NEIGHBOURS; i++) {
        int status;
        CHECK_EQUAL(waitpid(pids[i], &status, 0), pids[i]);
        CHECK_EQUAL(status, 0);
    }
    CHECK_ERRNO(wait(NULL), ECHILD);
}

// --- victims ---

static void *maps(void *unused) {
    for (;;) {
        char *place = mmap(NULL, 3 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (place != MAP_FAILED) {
            memset(place, 1, 1 << 20);
            mprotect(place, 64 << 10, PROT_READ);
            munmap(place, 3 << 20);
        }
    }
    return unused;
}

static void *makes_children(void *unused) {
    for (;;) {
        pid_t child = fork();
        if (child == 0) {
            if (fork() == 0) {
                memset(new_words(MAP_PRIVATE), 1, WORDS);
            }
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    return unused;
}

static void *replaces_children(void *unused) {
    for (;;) {
        pid_t child = vfork();
        if (child == 0) {
            execl("/bin/true", "true", (char *)NULL);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    return unused;
}

static void *sends(void *unused) {
    for (;;) {
        int ends[2], others[2];
        char text[4096] = "x";
        if (pipe(ends) == 0) {
            if (socketpair(AF_UNIX, SOCK_STREAM, 0, others) == 0) {
                (void)!write(ends[1], text, sizeof text);
                (void)!write(others[0], text, sizeof text);
                (void)!read(ends[0], text, 100);
                close(others[0]), close(others[1]);
            }
            close(ends[0]), close(ends[1]);
        }
    }
    return unused;
}

static void *waits(void *unused) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&mutex);
    for (;;) {
        pthread_cond_wait(&condition, &mutex);
    }
    return unused;
}

static void on_signal(int number) { (void)number; }

static void *signals(void *unused) {
    signal(SIGUSR1, on_signal);
    for (;;) {
        raise(SIGUSR1);
    }
    return unused;
}

static void *ends_at_once(void *unused) { return unused; }

static void *starts_threads(void *unused) {
    for (;;) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, ends_at_once, NULL) == 0) {
            pthread_join(thread, NULL);
        }
    }
    return unused;
}

static void victim(uint32_t seed) {
    static void *(*const all[])(void *) = {maps,  makes_children, replaces_children, sends,
                                           waits, signals,        starts_threads};
    pthread_t thread;
    for (int i = 0; i < 3; i++) {
        pthread_create(&thread, NULL, all[next(&seed) % 7], NULL);
    }
    all[next(&seed) % 7](NULL);
}

// Victims end by a signal at a time of its own, in a group that goes with them.
static void killed(void) {
    pid_t pids[NEIGHBOURS];
    uint32_t state = 7;
    begin_neighbours(pids);
    // What victims leave behind is waited for, too.
    CHECK_EQUAL(prctl(PR_SET_CHILD_SUBREAPER, 1L), 0);
    for (uint32_t i = 0; i < VICTIMS; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            setpgid(0, 0);
            victim(i);
        }
        setpgid(pid, pid);
        usleep(next(&state) % 4000);
        CHECK_EQUAL(kill(pid, i % 3 == 0 ? SIGTERM : SIGKILL), 0);
        int status;
        CHECK_EQUAL(waitpid(pid, &status, 0), pid);
        CHECK(WIFSIGNALED(status));
        kill(-pid, SIGKILL);
        while (waitpid(-pid, NULL, 0) > 0) {
        }
    }
    end_neighbours(pids);
}

// --- bombs ---

// Everybody makes others as long as there are any to be had, and waits.
static void explode(atomic_int *refused) {
    for (;;) {
        pid_t child = fork();
        if (child < 0) {
            CHECK_EQUAL(errno, EAGAIN);
            atomic_fetch_add(refused, 1);
            usleep(2000);
        }
    }
}

// A user who may have so many processes makes as many as that, and other users' go on.
static void bombs(void) {
    pid_t pids[NEIGHBOURS];
    atomic_int *refused = new_words(MAP_SHARED);
    begin_neighbours(pids);
    CHECK_EQUAL(prctl(PR_SET_CHILD_SUBREAPER, 1L), 0);
    pid_t bomb = fork();
    CHECK(bomb >= 0);
    if (bomb == 0) {
        struct rlimit limit = {MOST_OF_USER, MOST_OF_USER};
        setpgid(0, 0);
        // Without the rights to become somebody else the own user's processes count, the neighbours and all.
        (void)!setresuid(LONE_USER, LONE_USER, LONE_USER);
        CHECK_EQUAL(setrlimit(RLIMIT_NPROC, &limit), 0);
        explode(refused);
    }
    setpgid(bomb, bomb);
    for (int i = 0; atomic_load(refused) < 200; i++) {
        CHECK(i < 60000);
        usleep(1000);
    }
    int count = 0;
    CHECK_EQUAL(kill(-bomb, SIGKILL), 0);
    while (waitpid(-bomb, NULL, 0) > 0) {
        count++;
    }
    CHECK(count >= 1 && count <= MOST_OF_USER);
    end_neighbours(pids);
}

// Threads count as well.
static void *waits_for_end(void *gate) {
    char byte;
    (void)!read(*(int *)gate, &byte, 1);
    return NULL;
}

static void threads(void) {
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {MOST_OF_USER, MOST_OF_USER};
        pthread_t all[2 * MOST_OF_USER];
        int gate[2], count = 0;
        (void)!setresuid(LONE_USER + 1, LONE_USER + 1, LONE_USER + 1);
        CHECK_EQUAL(setrlimit(RLIMIT_NPROC, &limit), 0);
        CHECK_EQUAL(pipe(gate), 0);
        int error = 0;
        while (count < 2 * MOST_OF_USER &&
               (error = pthread_create(&all[count], NULL, waits_for_end, gate)) == 0) {
            count++;
        }
        CHECK_EQUAL(error, EAGAIN);
        CHECK(count < MOST_OF_USER);
        CHECK_ERRNO(fork(), EAGAIN);
        close(gate[1]);
        while (count > 0) {
            pthread_join(all[--count], NULL);
        }
        _exit(0);
    }
    int status;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
}

int main(int argc, char **argv) {
    static const struct part parts[] = {{"killed", killed}, {"bombs", bombs}, {"threads", threads}};
    setvbuf(stdout, NULL, _IOLBF, 0);
    return run_parts(parts, sizeof parts / sizeof *parts, argc, argv);
}
