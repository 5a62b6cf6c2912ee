// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Processes: making one by each of the ways there are and waiting for its end, and two that take turns.
// Unmodified programs only: threads are what an image has.

#include "bench.h"

#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READ = 0, WRITE = 1, PAGE_BYTES = 4096, SMALL_BYTES = 1 << 20, LARGE_BYTES = 1 << 30 };

extern char **environ;

/* This program with a word that it knows ends at once: a static one. */
static const char again[] = "/proc/self/exe", ends_at_once[] = "end";

static bool is_image(const char *name) {
    if (bench_on_hadal()) {
        bench_skip(name, "images have threads, not processes");
    }
    return bench_on_hadal();
}

/* --- making and reaping --------------------------------------------------------------------------------- */

static void reap(pid_t child) {
    int status = -1;
    BENCH_EXPECT(waitpid(child, &status, 0), child);
    BENCH_EXPECT(status, 0);
}

static void fork_and_reap(void) {
    pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    reap(child);
}

/* From fork to the return of waitpid, by a process that has written to so much memory. */
static void fork_of(const char *name, size_t bytes, unsigned rounds) {
    if (is_image(name)) {
        return;
    }
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        bench_fail("%s: no memory", name);
    }
    for (size_t at = 0; at < bytes; at += PAGE_BYTES) {
        memory[at] = 1;
    }
    bench_warm_up = 4;
    BENCH_TIME(rounds, 4 * rounds, fork_and_reap());
    BENCH_EXPECT(munmap(memory, bytes), 0);
    bench_report(name);
}

static void fork_small(const char *name) { fork_of(name, SMALL_BYTES, 50); }
static void fork_large(const char *name) { fork_of(name, LARGE_BYTES, 5); }

static char *const arguments[] = {(char *)again, (char *)ends_at_once, NULL};

static void exec_and_reap(void) {
    pid_t child = fork();
    if (child == 0) {
        execv(again, arguments);
        _exit(1);
    }
    reap(child);
}

static void spawn_and_reap(void) {
    pid_t child;
    BENCH_CHECK(posix_spawn(&child, again, NULL, NULL, arguments, environ));
    reap(child);
}

static void making(const char *name, void (*make)(void)) {
    if (is_image(name)) {
        return;
    }
    bench_warm_up = 4;
    BENCH_TIME(30, 100, make());
    bench_report(name);
}

static void fork_exec(const char *name) { making(name, exec_and_reap); }
static void spawn(const char *name) { making(name, spawn_and_reap); }

/* --- two processes -------------------------------------------------------------------------------------- */

/* A byte there and another one back, through two pipes. */
static void ping_pong(const char *name) {
    if (is_image(name)) {
        return;
    }
    int there[2], back[2];
    char byte = 0;
    BENCH_EXPECT(pipe(there), 0);
    BENCH_EXPECT(pipe(back), 0);
    pid_t child = fork();
    if (child == 0) {
        bench_pin(bench_other_cpu());
        close(there[WRITE]);
        while (read(there[READ], &byte, 1) == 1) {
            BENCH_EXPECT(write(back[WRITE], &byte, 1), 1);
        }
        _exit(0);
    }
    BENCH_TIME(200, 2000, {
        BENCH_EXPECT(write(there[WRITE], &byte, 1), 1);
        BENCH_EXPECT(read(back[READ], &byte, 1), 1);
    });
    for (int end = 0; end < 2; end++) {
        BENCH_EXPECT(close(there[end]), 0);
        BENCH_EXPECT(close(back[end]), 0);
    }
    reap(child);
    bench_report(name);
}

static void note(int number) { (void)number; }

/* A signal there and another one back; both sides wait in sigwait. */
static void signals(const char *name) {
    if (is_image(name)) {
        return;
    }
    sigset_t set;
    int number;
    BENCH_EXPECT(signal(SIGUSR1, note) == SIG_ERR, false);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    BENCH_EXPECT(sigprocmask(SIG_BLOCK, &set, NULL), 0);
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        bench_pin(bench_other_cpu());
        for (;;) {
            BENCH_CHECK(sigwait(&set, &number));
            BENCH_EXPECT(kill(parent, SIGUSR1), 0);
        }
    }
    BENCH_TIME(200, 2000, {
        BENCH_EXPECT(kill(child, SIGUSR1), 0);
        BENCH_CHECK(sigwait(&set, &number));
    });
    BENCH_EXPECT(kill(child, SIGKILL), 0);
    int status;
    BENCH_EXPECT(waitpid(child, &status, 0), child);
    BENCH_EXPECT(sigprocmask(SIG_UNBLOCK, &set, NULL), 0);
    bench_report(name);
}

/* Two that yield on one CPU: per switch, the call included. */
static void switches(const char *name) {
    if (is_image(name)) {
        return;
    }
    volatile bool *is_over =
        mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (is_over == MAP_FAILED) {
        bench_fail("%s: no memory", name);
    }
    pid_t child = fork();
    if (child == 0) {
        while (!*is_over) {
            sched_yield();
        }
        _exit(0);
    }
    for (unsigned i = 0; i < bench_rounds(bench_choose(200, 2000)); i++) {
        uint64_t start = bench_ticks();
        BENCH_EXPECT(sched_yield(), 0);
        bench_sample(bench_ticks() - start, 2); /* to the other one, and back */
    }
    *is_over = true;
    reap(child);
    BENCH_EXPECT(munmap((void *)is_over, PAGE_BYTES), 0);
    bench_report(name);
}

static const struct bench_figure figures[] = {
    {"process.fork", fork_small}, {"process.fork_1g", fork_large},  {"process.fork_exec", fork_exec},
    {"process.spawn", spawn},     {"process.ping_pong", ping_pong}, {"process.signal", signals},
    {"process.switch", switches},
};

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], ends_at_once) == 0) {
        return 0;
    }
    return bench_main(argc, argv, figures, sizeof figures / sizeof *figures);
}
