// SPDX-License-Identifier: Apache-2.0 OR MIT
// Stopping and continuing processes.
#include "parts.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { THREADS = 3, ROUNDS = 40 };

struct shared {
    atomic_int ready, handled;
    atomic_long count;
};

static struct shared *shared;

static void make_shared(void) {
    shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
}

static volatile sig_atomic_t told, told_code, told_status;

static void on_child(int signo, siginfo_t *info, void *context) {
    (void)signo;
    (void)context;
    told += 1;
    told_code = info->si_code;
    told_status = info->si_status;
}

static void *count_up(void *argument) {
    atomic_fetch_add(&shared->ready, 1);
    for (;;) {
        atomic_fetch_add(&shared->count, 1);
        sched_yield();
    }
    return argument;
}

static void *pause_for_ever(void *argument) {
    atomic_fetch_add(&shared->ready, 1);
    for (;;) {
        pause();
    }
    return argument;
}

static void wait_until(atomic_int *number, int value) {
    while (atomic_load(number) != value) {
        usleep(1000);
    }
}

static void expect_stop(pid_t child, int signo) {
    int status;
    CHECK_EQUAL(waitpid(child, &status, WUNTRACED), child);
    CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == signo);
}

static void expect_continuing(pid_t child) {
    int status;
    CHECK_EQUAL(waitpid(child, &status, WCONTINUED), child);
    CHECK(WIFCONTINUED(status));
}

static void expect_kill(pid_t child, int signo) {
    CHECK(kill(child, signo) == 0);
    int status = status_of(child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == signo);
}

// A process with several threads that compute and wait: none of them goes on while it is stopped.
static void several_threads(void) {
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        for (int index = 0; index < THREADS; ++index) {
            CHECK(pthread_create(&thread, NULL, index == 0 ? pause_for_ever : count_up, NULL) == 0);
        }
        count_up(NULL);
    }
    wait_until(&shared->ready, THREADS + 1);
    for (int round = 0; round < ROUNDS; ++round) {
        CHECK(kill(child, SIGSTOP) == 0);
        expect_stop(child, SIGSTOP);
        long before = atomic_load(&shared->count);
        usleep(3000);
        CHECK_EQUAL(atomic_load(&shared->count), before);
        CHECK_EQUAL(waitpid(child, NULL, WUNTRACED | WCONTINUED | WNOHANG), 0);
        CHECK(kill(child, SIGCONT) == 0);
        expect_continuing(child);
        while (atomic_load(&shared->count) == before) {
            sched_yield();
        }
    }
    // Faster than it can follow: what was sent last counts.
    for (int round = 0; round < 300; ++round) {
        CHECK(kill(child, SIGSTOP) == 0 && kill(child, SIGCONT) == 0);
    }
    long before = atomic_load(&shared->count);
    while (atomic_load(&shared->count) == before) {
        sched_yield();
    }
    CHECK(kill(child, SIGSTOP) == 0);
    expect_kill(child, SIGKILL);
}

static void on_continue(int signo) {
    (void)signo;
    atomic_fetch_add(&shared->handled, 1);
}

static void on_user(int signo) {
    (void)signo;
    atomic_fetch_add(&shared->handled, 100);
}

// Signals wait while a process is stopped; SIGCONT is caught when it goes on, and calls are made again.
static void what_waits(void) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        // Its parent is in another group: somebody could continue it.
        CHECK(setpgid(0, 0) == 0);
        struct sigaction continuing = {.sa_handler = on_continue, .sa_flags = SA_RESTART};
        struct sigaction user = {.sa_handler = on_user, .sa_flags = SA_RESTART};
        CHECK(sigaction(SIGCONT, &continuing, NULL) == 0 && sigaction(SIGUSR1, &user, NULL) == 0);
        atomic_store(&shared->ready, 1);
        char byte = 0;
        CHECK_EQUAL(read(ends[0], &byte, 1), 1);
        _exit(byte);
    }
    wait_until(&shared->ready, 1);
    CHECK(kill(child, SIGTSTP) == 0);
    expect_stop(child, SIGTSTP);
    CHECK(kill(child, SIGUSR1) == 0);
    usleep(3000);
    CHECK_EQUAL(atomic_load(&shared->handled), 0);
    CHECK(kill(child, SIGCONT) == 0);
    expect_continuing(child);
    wait_until(&shared->handled, 101);
    // Twice at a time it is stopped once, and it goes on once.
    CHECK(kill(child, SIGSTOP) == 0);
    expect_stop(child, SIGSTOP);
    CHECK(kill(child, SIGTTIN) == 0 && kill(child, SIGCONT) == 0);
    wait_until(&shared->handled, 102);
    CHECK(write(ends[1], "x", 1) == 1);
    CHECK_EQUAL(exit_of(child), 'x');
    close(ends[0]);
    close(ends[1]);
}

// What a parent hears: signals unless it does not want those of stops, and siginfo.
static void what_parents_hear(void) {
    struct sigaction action = {.sa_sigaction = on_child, .sa_flags = SA_SIGINFO | SA_RESTART};
    CHECK(sigaction(SIGCHLD, &action, NULL) == 0);
    pid_t child = fork();
    if (child == 0) {
        CHECK(setpgid(0, 0) == 0);
        raise(SIGSTOP);
        raise(SIGTTOU);
        _exit(4);
    }
    siginfo_t info;
    CHECK(waitid(P_PID, (id_t)child, &info, WSTOPPED | WNOWAIT) == 0);
    CHECK(info.si_code == CLD_STOPPED && info.si_status == SIGSTOP && info.si_pid == child);
    CHECK(waitid(P_PID, (id_t)child, &info, WSTOPPED) == 0 && info.si_code == CLD_STOPPED);
    CHECK(told == 1 && told_code == CLD_STOPPED && told_status == SIGSTOP);
    action.sa_flags |= SA_NOCLDSTOP;
    CHECK(sigaction(SIGCHLD, &action, NULL) == 0);
    CHECK(kill(child, SIGCONT) == 0);
    expect_stop(child, SIGTTOU);
    CHECK_EQUAL(told, 1);
    CHECK(kill(child, SIGCONT) == 0);
    CHECK(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) == 0);
    CHECK(info.si_code == CLD_EXITED && info.si_status == 4);
    // A child that has ended will not stop any more.
    CHECK_ERRNO(waitid(P_PID, (id_t)child, &info, WSTOPPED | WCONTINUED), ECHILD);
    CHECK_EQUAL(exit_of(child), 4);
    CHECK_EQUAL(told, 2);
    CHECK(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
}

// Stop signals can be ignored, blocked and caught, but for SIGSTOP.
static void what_does_not_stop(void) {
    pid_t child = fork();
    if (child == 0) {
        CHECK(signal(SIGTSTP, SIG_IGN) != SIG_ERR && signal(SIGTTIN, on_user) != SIG_ERR);
        sigset_t set, pending;
        sigemptyset(&set);
        sigaddset(&set, SIGTTOU);
        sigaddset(&set, SIGCONT);
        CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
        raise(SIGTSTP);
        raise(SIGTTIN);
        CHECK_EQUAL(atomic_load(&shared->handled), 100);
        // Each kind drops the other, even if that is blocked.
        raise(SIGTTOU);
        CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGTTOU));
        raise(SIGCONT);
        CHECK(sigpending(&pending) == 0 && !sigismember(&pending, SIGTTOU));
        raise(SIGTTOU);
        CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGTTOU) && !sigismember(&pending, SIGCONT));
        raise(SIGCONT);
        raise(SIGSTOP);
        _exit(5);
    }
    expect_stop(child, SIGSTOP);
    CHECK(kill(child, SIGCONT) == 0);
    CHECK_EQUAL(exit_of(child), 5);
}

// A thread that is told to stop when it is about to be killed is killed.
static void killing(void) {
    for (int round = 0; round < 200; ++round) {
        pid_t child = fork();
        if (child == 0) {
            CHECK(setpgid(0, 0) == 0);
            for (;;) {
                atomic_fetch_add(&shared->count, 1);
            }
        }
        long before = atomic_load(&shared->count);
        while (atomic_load(&shared->count) == before) {
            sched_yield();
        }
        CHECK(syscall(SYS_tgkill, child, child, SIGSTOP) == 0);
        expect_kill(child, SIGKILL);
    }
}

// Whoever waits for a child to leave its memory is not let go by a stop signal.
static void while_memory_is_shared(void) {
    pid_t stopped = fork();
    if (stopped == 0) {
        CHECK(setpgid(0, 0) == 0);
        volatile int left = 0;
        pid_t guest = vfork();
        if (guest == 0) {
            kill(getppid(), SIGTSTP);
            usleep(20000);
            left = 1;
            _exit(0);
        }
        CHECK_EQUAL(left, 1);
        CHECK_EQUAL(exit_of(guest), 0);
        _exit(3);
    }
    expect_stop(stopped, SIGTSTP);
    CHECK(kill(stopped, SIGCONT) == 0);
    CHECK_EQUAL(exit_of(stopped), 3);
}

// A group without a shell: terminals' stop signals do nothing there, and those that were stopped before are
// hung up.
static void orphaned_groups(void) {
    pid_t leader = fork();
    if (leader == 0) {
        CHECK(setsid() == getpid());
        raise(SIGTSTP);
        raise(SIGTTIN);
        int ends[2];
        CHECK(pipe(ends) == 0);
        pid_t parent = fork();
        if (parent == 0) {
            pid_t child = fork();
            if (child == 0) {
                CHECK(setpgid(0, 0) == 0);
                CHECK(signal(SIGHUP, on_user) != SIG_ERR && signal(SIGCONT, on_continue) != SIG_ERR);
                raise(SIGSTOP);
                CHECK_EQUAL(atomic_load(&shared->handled), 101);
                CHECK(write(ends[1], "y", 1) == 1);
                _exit(0);
            }
            expect_stop(child, SIGSTOP);
            _exit(2);
        }
        CHECK_EQUAL(exit_of(parent), 2);
        char byte = 0;
        CHECK(read(ends[0], &byte, 1) == 1 && byte == 'y');
        _exit(6);
    }
    CHECK_EQUAL(exit_of(leader), 6);
}

// Threads that end or begin while the process stops.
static void *briefly(void *argument) { return argument; }

static void coming_and_going(void) {
    pid_t child = fork();
    if (child == 0) {
        atomic_store(&shared->ready, 1);
        for (;;) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, briefly, NULL) == 0) {
                pthread_join(thread, NULL);
            }
            pid_t grandchild = fork();
            if (grandchild == 0) {
                _exit(0);
            }
            waitpid(grandchild, NULL, 0);
            atomic_fetch_add(&shared->count, 1);
        }
    }
    wait_until(&shared->ready, 1);
    for (int round = 0; round < ROUNDS; ++round) {
        usleep((unsigned)(round % 7) * 300);
        CHECK(kill(child, SIGSTOP) == 0);
        expect_stop(child, SIGSTOP);
        long before = atomic_load(&shared->count);
        usleep(1000);
        CHECK_EQUAL(atomic_load(&shared->count), before);
        CHECK(kill(child, SIGCONT) == 0);
        expect_continuing(child);
    }
    expect_kill(child, SIGTERM);
}

void stopping(void) {
    void (*const parts[])(void) = {several_threads,    what_waits,      what_parents_hear,
                                   what_does_not_stop, killing,         while_memory_is_shared,
                                   orphaned_groups,    coming_and_going};
    for (size_t index = 0; index < sizeof parts / sizeof *parts; ++index) {
        make_shared();
        parts[index]();
        CHECK(munmap(shared, PAGE) == 0);
    }
}
