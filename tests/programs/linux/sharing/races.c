// SPDX-License-Identifier: Apache-2.0 OR MIT
// Processes that share everything, and come and go while others use what they share.
#include "parts.h"

enum { WORKERS = 3, GUESTS = 120, ROUNDS = 400, CHILDREN = 1500 };

// Opens and closes descriptors, of which nobody else knows, until it is told to stop.
static void use_descriptors(void) {
    while (atomic_load(step) == 0) {
        int first = open("/dev/null", O_RDWR), second = dup(first), ends[2];
        CHECK(first > 2 && second > 2 && first != second && pipe(ends) == 0);
        char mark = (char)first, got = 0;
        CHECK(write(ends[1], &mark, 1) == 1 && read(ends[0], &got, 1) == 1 && got == mark);
        CHECK(fcntl(second, F_SETFD, FD_CLOEXEC) == 0 && close(first) == 0 && is_open(second));
        CHECK(close(ends[0]) == 0 && close(ends[1]) == 0 && close(second) == 0);
    }
    _exit(0);
}

static void end_somehow(int round) {
    switch (round % 6) {
    case 0:
        kill(getpid(), SIGKILL);
        break;
    case 1:
        become("nothing");
        break;
    case 2:
        CHECK(unshare(CLONE_FILES) == 0 && unshare(CLONE_FS) == 0);
        CHECK(syscall(SYS_close_range, 3, ~0U, 0) == 0);
        _exit(0);
    case 3:
        // An orphan, which shares the files a little longer.
        if (fork_with(CLONE_FILES | CLONE_FS) == 0) {
            CHECK(close(dup(0)) == 0);
        }
        _exit(0);
    default:
        CHECK(close(dup(0)) == 0);
        _exit(0);
    }
}

// Looks at the others while they come and go.
static void look(pid_t parent) {
    while (atomic_load(step) == 0) {
        char link[60], text[100];
        for (pid_t pid = parent; pid < parent + 20; ++pid) {
            for (int fd = 0; fd < 8; ++fd) {
                snprintf(link, sizeof link, "/proc/%d/fd/%d", pid, fd);
                (void)!readlink(link, text, sizeof text);
            }
            snprintf(link, sizeof link, "/proc/%d/cwd", pid);
            (void)!readlink(link, text, sizeof text);
            kill(pid, 0);
        }
    }
    _exit(0);
}

void races(void) {
    int before = count_descriptors("/proc/self/fd");
    reach(0);
    pid_t workers[WORKERS + 1], own = getpid();
    for (int index = 0; index < WORKERS; ++index) {
        workers[index] = fork_with(CLONE_FILES | CLONE_FS);
        if (workers[index] == 0) {
            use_descriptors();
        }
    }
    workers[WORKERS] = fork();
    if (workers[WORKERS] == 0) {
        look(own);
    }
    for (int round = 0; round < GUESTS; ++round) {
        pid_t guest = fork_with(CLONE_FILES | CLONE_FS);
        if (guest == 0) {
            end_somehow(round);
        }
        int status;
        CHECK_EQUAL(waitpid(guest, &status, 0), guest);
        CHECK(round % 6 == 0 ? WIFSIGNALED(status) : status == 0);
    }
    reach(1);
    for (int index = 0; index <= WORKERS; ++index) {
        CHECK_EQUAL(exit_of(workers[index]), 0);
    }
    CHECK_EQUAL(count_descriptors("/proc/self/fd"), before);
}

static void one(int signo) { (void)signo; }
static void two(int signo) { (void)signo; }

// In the memory of the others: with neither errno nor anything else of the C library.
static int act(void *unused) {
    (void)unused;
    struct {
        void (*handler)(int);
        unsigned long flags;
        void *restorer;
        uint64_t mask;
    } action = {.handler = one}, now;
    for (int round = 0; round < ROUNDS; ++round) {
        long result = SYS_rt_sigaction;
        register long size __asm__("r10") = 8;
        action.handler = round % 3 == 0 ? (void (*)(int))SIG_IGN : round % 2 == 0 ? one : two;
        __asm__ volatile("syscall"
                         : "+a"(result)
                         : "D"((long)SIGUSR1), "S"(&action), "d"(&now), "r"(size)
                         : "rcx", "r11", "memory");
        bool is_known = now.handler == one || now.handler == two || now.handler == (void (*)(int))SIG_IGN ||
                        now.handler == (void (*)(int))SIG_DFL;
        long fd = raw(SYS_dup, 0, 0, 0);
        if (result != 0 || !is_known || fd < 0 ||
            raw(SYS_chdir, (long)(round % 2 == 0 ? "/tmp" : "/"), 0, 0) != 0 ||
            raw(SYS_close, fd, 0, 0) != 0) {
            return 1;
        }
    }
    return 0;
}

void many(void) {
    int start = open(".", O_RDONLY | O_DIRECTORY), before = count_descriptors("/proc/self/fd");
    void *stacks[WORKERS];
    pid_t pids[WORKERS];
    CHECK(start >= 0);
    for (int index = 0; index < WORKERS; ++index) {
        stacks[index] = new_stack();
    }
    for (int round = 0; round < 8; ++round) {
        for (int index = 0; index < WORKERS; ++index) {
            pids[index] = run_with(CLONE_FILES | CLONE_FS | CLONE_SIGHAND, act, stacks[index]);
            CHECK(pids[index] > 0);
        }
        for (int index = 0; index < WORKERS; ++index) {
            CHECK_EQUAL(exit_of(pids[index]), 0);
        }
    }
    signal(SIGUSR1, SIG_DFL);
    // One after the other, with everything in common or with some of it.
    static const unsigned long kinds[] = {CLONE_FILES, CLONE_FS, CLONE_FILES | CLONE_FS, 0};
    for (int round = 0; round < CHILDREN; ++round) {
        pid_t child = fork_with(kinds[round % 4]);
        if (child == 0) {
            _exit(0);
        }
        CHECK_EQUAL(exit_of(child), 0);
    }
    CHECK_EQUAL(count_descriptors("/proc/self/fd"), before);
    CHECK(fchdir(start) == 0 && close(start) == 0);
    for (int index = 0; index < WORKERS; ++index) {
        munmap(stacks[index], STACK);
    }
}
