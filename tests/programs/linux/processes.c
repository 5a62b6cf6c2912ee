// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Processes: making, sharing, waiting for, stopping with signals and reaping them. Linux says what is right.

#define _GNU_SOURCE
#include "../common/check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

enum { PAGE = 4096, SEQUENCE = 200, AT_ONCE = 60 };
// musl has no header of the kernel's for them.
enum { WAIT_ON_WORD = 0, WAKE_ON_WORD = 1, OWN_WORD = 128 };

static int status_of(pid_t pid) {
    int status;
    CHECK_EQUAL(waitpid(pid, &status, 0), pid);
    return status;
}

static int exit_of(pid_t pid) {
    int status = status_of(pid);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void basics(void) {
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

static void waiting(void) {
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

static void many(void) {
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

static void programs(void) {
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
static void texts(void) {
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

static void replacing(void) {
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
static void guests(void) {
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

static volatile sig_atomic_t heard, heard_pid, heard_code, heard_status;

static void on_child(int signo, siginfo_t *info, void *context) {
    (void)signo;
    (void)context;
    heard += 1;
    heard_pid = info->si_pid;
    heard_code = info->si_code;
    heard_status = info->si_status;
}

static volatile sig_atomic_t got;

static void on_value(int signo, siginfo_t *info, void *context) {
    (void)signo;
    (void)context;
    got = info->si_value.sival_int + (info->si_pid == getppid());
}

static void signals(void) {
    struct sigaction action = {.sa_sigaction = on_child, .sa_flags = SA_SIGINFO | SA_RESTART};
    CHECK(sigaction(SIGCHLD, &action, NULL) == 0);
    pid_t child = fork();
    if (child == 0) {
        _exit(3);
    }
    CHECK_EQUAL(exit_of(child), 3);
    CHECK(heard == 1 && heard_pid == child && heard_code == CLD_EXITED && heard_status == 3);
    child = fork();
    if (child == 0) {
        pause();
    }
    CHECK(kill(child, SIGTERM) == 0);
    CHECK_EQUAL(WTERMSIG(status_of(child)), SIGTERM);
    CHECK(heard == 2 && heard_code == CLD_KILLED && heard_status == SIGTERM);
    // A child that nobody wants to hear of.
    CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    child = fork();
    if (child == 0) {
        _exit(0);
    }
    CHECK_ERRNO(waitpid(child, NULL, 0), ECHILD);
    CHECK(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
    // A value, and a mask that is inherited.
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    child = fork();
    if (child == 0) {
        struct sigaction of_value = {.sa_sigaction = on_value, .sa_flags = SA_SIGINFO};
        sigaction(SIGUSR1, &of_value, NULL);
        sigset_t none;
        sigemptyset(&none);
        while (got == 0) {
            sigsuspend(&none);
        }
        _exit(got);
    }
    CHECK(sigqueue(child, SIGUSR1, (union sigval){.sival_int = 20}) == 0);
    CHECK_EQUAL(exit_of(child), 21);
    CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
    // A pending signal is not inherited, nor is an interval timer.
    CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0 && raise(SIGUSR1) == 0);
    alarm(100);
    child = fork();
    if (child == 0) {
        sigset_t pending;
        sigpending(&pending);
        _exit(sigismember(&pending, SIGUSR1) + 2 * (alarm(0) != 0));
    }
    CHECK_EQUAL(exit_of(child), 0);
    CHECK(alarm(0) != 0);
    int signo;
    CHECK(sigwait(&set, &signo) == 0 && signo == SIGUSR1);
    CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
}

static int next_signal(int fd) {
    struct signalfd_siginfo info;
    ssize_t length = read(fd, &info, sizeof info);
    CHECK(length == sizeof info || (length == -1 && errno == EAGAIN));
    return length == -1 ? 0 : (int)info.ssi_signo;
}

// A file of signals gives each process its own.
static void files_of_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    int file = signalfd(-1, &set, SFD_NONBLOCK);
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    CHECK(file >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, file, &event) == 0);
    CHECK(kill(getpid(), SIGUSR2) == 0);
    pid_t child = fork();
    if (child == 0) {
        struct pollfd readable = {.fd = file, .events = POLLIN};
        CHECK(poll(&readable, 1, 0) == 0 && next_signal(file) == 0);
        CHECK(kill(getpid(), SIGUSR1) == 0);
        CHECK(poll(&readable, 1, 0) == 1 && next_signal(file) == SIGUSR1);
        // A signal ends a wait for it.
        pid_t sender = fork();
        if (sender == 0) {
            usleep(20000);
            kill(getppid(), SIGUSR1);
            _exit(0);
        }
        CHECK(poll(&readable, 1, 20000) == 1 && next_signal(file) == SIGUSR1);
        CHECK_EQUAL(exit_of(sender), 0);
        // What another process has added can be taken out.
        CHECK(epoll_ctl(epoll, EPOLL_CTL_DEL, file, NULL) == 0);
        close(epoll);
        _exit(3);
    }
    CHECK_EQUAL(exit_of(child), 3);
    CHECK_EQUAL(next_signal(file), SIGUSR2);
    CHECK_EQUAL(epoll_ctl(epoll, EPOLL_CTL_ADD, file, &event), 0);
    CHECK(epoll_wait(epoll, &event, 1, 0) == 0 && kill(getpid(), SIGUSR1) == 0);
    CHECK(epoll_wait(epoll, &event, 1, 20000) == 1 && next_signal(file) == SIGUSR1);
    close(epoll);
    close(file);
    CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
}

static void groups(void) {
    CHECK(getpgrp() == getpgid(0));
    pid_t leader = fork();
    if (leader == 0) {
        CHECK(setpgid(0, 0) == 0 && getpgrp() == getpid());
        CHECK_ERRNO(setsid(), EPERM);
        for (int index = 0; index < 3; ++index) {
            if (fork() == 0) {
                pause();
            }
        }
        CHECK(signal(SIGTERM, SIG_IGN) != SIG_ERR);
        CHECK(kill(0, SIGTERM) == 0);
        int count = 0;
        for (int status; waitpid(0, &status, 0) > 0; ++count) {
            CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
        }
        _exit(count);
    }
    CHECK_EQUAL(exit_of(leader), 3);
    pid_t child = fork();
    if (child == 0) {
        CHECK(setsid() == getpid() && getsid(0) == getpid() && getpgrp() == getpid());
        CHECK_ERRNO(setpgid(0, 0), EPERM);
        _exit(0);
    }
    CHECK_EQUAL(exit_of(child), 0);
    CHECK_ERRNO(getpgid(4000000), ESRCH);
    CHECK_ERRNO(kill(-4000000, 0), ESRCH);
    CHECK_ERRNO(setpgid(0, 4000000), EPERM);
}

// Each is the parent of the next, and ends: at any time one is being made. A signal to the group ends them
// all, and with them the pipe.
static void chains(void) {
    pid_t keeper = fork();
    if (keeper == 0) {
        // They are this one's to wait for where that can be had.
        CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
        prctl(PR_SET_CHILD_SUBREAPER, 1L);
        for (int round = 0; round < 20; ++round) {
            int ends[2];
            CHECK(pipe(ends) == 0);
            pid_t leader = fork();
            if (leader == 0) {
                CHECK(setpgid(0, 0) == 0);
                close(ends[0]);
                CHECK(write(ends[1], "", 1) == 1);
                while (fork() <= 0) {
                }
                _exit(0);
            }
            char byte;
            CHECK_EQUAL(read(ends[0], &byte, 1), 1);
            close(ends[1]);
            usleep(3000 + (unsigned)round * 100);
            CHECK(kill(-leader, SIGKILL) == 0);
            struct pollfd end = {.fd = ends[0], .events = POLLIN};
            CHECK_EQUAL(poll(&end, 1, 20000), 1);
            CHECK_EQUAL(read(ends[0], &byte, 1), 0);
            close(ends[0]);
        }
        _exit(6);
    }
    CHECK_EQUAL(exit_of(keeper), 6);
}

struct shared {
    pthread_mutex_t mutex;
    sem_t semaphore;
    int count;
    int late;
};

static void memory(void) {
    size_t length = 1 << 20;
    struct shared *shared = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->mutex, &attributes);
    CHECK(sem_init(&shared->semaphore, 1, 0) == 0);
    enum { CHILDREN = 4, ROUNDS = 2000 };
    for (int index = 0; index < CHILDREN; ++index) {
        if (fork() == 0) {
            CHECK(sem_wait(&shared->semaphore) == 0);
            for (int round = 0; round < ROUNDS; ++round) {
                pthread_mutex_lock(&shared->mutex);
                shared->count += 1;
                pthread_mutex_unlock(&shared->mutex);
            }
            ((int *)shared)[PAGE * (index + 1) / 4] = index + 1;
            _exit(0);
        }
    }
    for (int index = 0; index < CHILDREN; ++index) {
        CHECK(sem_post(&shared->semaphore) == 0);
    }
    for (int index = 0; index < CHILDREN; ++index) {
        int status;
        CHECK(wait(&status) > 0 && status == 0);
    }
    CHECK_EQUAL(shared->count, CHILDREN * ROUNDS);
    for (int index = 0; index < CHILDREN; ++index) {
        CHECK_EQUAL(((int *)shared)[PAGE * (index + 1) / 4], index + 1);
    }
    munmap(shared, length);
    // A file in memory, and a private view of it.
    int fd = memfd_create("shared", 0);
    CHECK(fd >= 0 && ftruncate(fd, 4 * PAGE) == 0);
    char *view = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *copy = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    CHECK(view != MAP_FAILED && copy != MAP_FAILED);
    copy[0] = 'p';
    pid_t child = fork();
    if (child == 0) {
        CHECK(copy[0] == 'p');
        view[PAGE] = 'c';
        copy[0] = 'q';
        _exit(0);
    }
    CHECK_EQUAL(exit_of(child), 0);
    CHECK(view[PAGE] == 'c' && copy[0] == 'p');
    // Large pages that are changed in parts by both, and parts that are given back.
    size_t large = 8 << 20;
    unsigned char *bytes = mmap(NULL, large, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(bytes != MAP_FAILED);
    for (size_t at = 0; at < large; at += PAGE) {
        bytes[at] = (unsigned char)(at / PAGE);
    }
    child = fork();
    if (child == 0) {
        for (size_t at = 0; at < large; at += 3 * PAGE) {
            bytes[at] ^= 0xff;
        }
        CHECK(munmap(bytes + (1 << 20), 1 << 20) == 0);
        CHECK(mprotect(bytes + (4 << 20), 1 << 20, PROT_READ) == 0);
        pid_t second = fork();
        if (second == 0) {
            for (size_t at = 5 << 20; at < large; at += PAGE) {
                unsigned char changed = (at / PAGE) % 3 == 0 ? 0xff : 0;
                CHECK(bytes[at] == (unsigned char)((at / PAGE) ^ changed));
                bytes[at] = 1;
            }
            _exit(0);
        }
        CHECK_EQUAL(exit_of(second), 0);
        for (size_t at = 2 << 20; at < large; at += PAGE) {
            unsigned char changed = (at / PAGE) % 3 == 0 ? 0xff : 0;
            CHECK(bytes[at] == (unsigned char)((at / PAGE) ^ changed));
        }
        _exit(0);
    }
    madvise(bytes + (6 << 20), 1 << 20, MADV_DONTNEED);
    CHECK_EQUAL(exit_of(child), 0);
    for (size_t at = 0; at < large; at += PAGE) {
        int is_gone = at >= 6 << 20 && at < 7 << 20;
        CHECK_EQUAL(bytes[at], is_gone ? 0 : (unsigned char)(at / PAGE));
    }
    munmap(bytes, large);
}

static atomic_int stop;
static unsigned char *field;
enum { FIELD_PAGES = 600, WORKERS = 3 };

// Each worker keeps all bytes of its pages equal, but for the page that it is changing.
static void *change(void *argument) {
    long number = (long)argument;
    for (unsigned round = 1; !atomic_load(&stop); ++round) {
        for (int page = (int)number; page < FIELD_PAGES; page += WORKERS) {
            memset(field + (size_t)page * PAGE, (int)(round & 0xff), PAGE);
        }
        void *more = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(more != MAP_FAILED);
        memset(more, 1, 3 * PAGE);
        CHECK(munmap(more, 16 * PAGE) == 0);
    }
    return NULL;
}

static int pages_in_change(void) {
    int mixed = 0;
    for (int page = 0; page < FIELD_PAGES; ++page) {
        const unsigned char *at = field + (size_t)page * PAGE;
        mixed += memcmp(at, at + 1, PAGE - 1) != 0;
    }
    return mixed;
}

static void threads(void) {
    field =
        mmap(NULL, (size_t)FIELD_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(field != MAP_FAILED);
    pthread_t workers[WORKERS];
    for (long number = 0; number < WORKERS; ++number) {
        CHECK(pthread_create(&workers[number], NULL, change, (void *)number) == 0);
    }
    for (int round = 0; round < 40; ++round) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            // Nobody else is here: what is in change stays so.
            int before = pages_in_change();
            CHECK(before <= WORKERS);
            memset(field, 0xee, PAGE * 50);
            usleep(500);
            CHECK(pages_in_change() <= before);
            _exit(0);
        }
        CHECK_EQUAL(exit_of(child), 0);
    }
    atomic_store(&stop, 1);
    for (int number = 0; number < WORKERS; ++number) {
        CHECK(pthread_join(workers[number], NULL) == 0);
    }
    CHECK_EQUAL(pages_in_change(), 0);
    munmap(field, (size_t)FIELD_PAGES * PAGE);
}

static void *fork_here(void *argument) {
    pid_t child = fork();
    if (child == 0) {
        _exit(syscall(SYS_gettid) == getpid() ? 4 : 1);
    }
    *(int *)argument = exit_of(child);
    return NULL;
}

static void pipes(void) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t writer = fork();
    if (writer == 0) {
        close(ends[0]);
        char block[1000];
        memset(block, 'b', sizeof block);
        for (int index = 0; index < 300; ++index) {
            CHECK(write(ends[1], block, sizeof block) == sizeof block);
        }
        _exit(0);
    }
    close(ends[1]);
    long total = 0;
    char block[4096];
    for (ssize_t got_now; (got_now = read(ends[0], block, sizeof block)) > 0;) {
        total += got_now;
    }
    CHECK_EQUAL(total, 300000);
    CHECK_EQUAL(exit_of(writer), 0);
    close(ends[0]);
    // Nobody reads.
    CHECK(pipe(ends) == 0);
    writer = fork();
    if (writer == 0) {
        close(ends[0]);
        while (write(ends[1], block, sizeof block) > 0) {
        }
        _exit(1);
    }
    close(ends[0]);
    close(ends[1]);
    CHECK_EQUAL(WTERMSIG(status_of(writer)), SIGPIPE);
    int from_thread = 0;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, fork_here, &from_thread) == 0 && pthread_join(thread, NULL) == 0);
    CHECK_EQUAL(from_thread, 4);
    // The first thread ends, another one goes on.
    pid_t child = fork();
    if (child == 0) {
        pthread_t last;
        static int inner;
        CHECK(pthread_create(&last, NULL, fork_here, &inner) == 0);
        pthread_exit(NULL);
    }
    CHECK_EQUAL(exit_of(child), 0);
}

// A lock of a process goes with it, however it ends, and with a descriptor that execve closes; who waits for
// it gets it.
static void locks(void) {
    char name[] = "/tmp/processes-XXXXXX";
    int file = mkstemp(name);
    CHECK(file >= 0);
    for (int how = 0; how < 3; ++how) {
        int ready[2], ends[2];
        CHECK(pipe(ready) == 0 && pipe(ends) == 0);
        pid_t child = fork();
        if (child == 0) {
            int own = open(name, O_RDWR | O_CLOEXEC);
            if (flock(own, LOCK_EX) != 0 || write(ready[1], "x", 1) != 1) {
                _exit(1);
            }
            usleep(200000);
            if (how == 0) {
                raise(SIGKILL);
            } else if (how == 1) {
                dup2(ends[0], 0), close(ends[1]);
                execlp("cat", "cat", NULL);
            }
            _exit(0);
        }
        char byte;
        CHECK(read(ready[0], &byte, 1) == 1);
        CHECK(flock(file, LOCK_EX) == 0);
        // Only the one that has called execve is there.
        CHECK(how != 1 || waitpid(child, NULL, WNOHANG) == 0);
        CHECK(flock(file, LOCK_UN) == 0);
        close(ends[1]), close(ends[0]), close(ready[0]), close(ready[1]);
        waitpid(child, NULL, 0);
    }
    unlink(name);
    close(file);
}

// Whoever looks into a directory of /proc that he has opened before sees nothing of the processes after.
static void records(void) {
    char path[40], text[100];
    pid_t first = fork();
    if (first == 0) {
        pause();
        _exit(0);
    }
    snprintf(path, sizeof path, "/proc/%d", first);
    int directory = open(path, O_RDONLY | O_DIRECTORY), again = open(path, O_RDONLY | O_DIRECTORY);
    int threads = openat(directory, "task", O_RDONLY | O_DIRECTORY);
    int files = openat(directory, "fd", O_RDONLY | O_DIRECTORY);
    int comm = openat(directory, "comm", O_RDWR);
    CHECK(directory >= 0 && again >= 0 && threads >= 0 && files >= 0 && comm >= 0);
    CHECK(faccessat(directory, "stat", R_OK, 0) == 0);
    kill(first, SIGKILL);
    CHECK(WIFSIGNALED(status_of(first)));
    for (int round = 0; round < 2; ++round) {
        pid_t next = 0;
        if (round == 1) {
            next = fork();
            if (next == 0) {
                pause();
                _exit(0);
            }
        }
        static const char *const names[] = {"stat", "status", "comm", "cmdline", "maps", "mounts"};
        for (unsigned index = 0; index < sizeof names / sizeof *names; ++index) {
            CHECK_ERRNO(openat(directory, names[index], O_RDONLY), ESRCH);
        }
        CHECK_ERRNO(readlinkat(directory, "exe", text, sizeof text), ESRCH);
        CHECK_ERRNO(readlinkat(directory, "fd/1", text, sizeof text), ESRCH);
        CHECK_ERRNO(write(comm, "x", 1), ESRCH);
        int lists[] = {again, threads, files};
        for (unsigned index = 0; index < sizeof lists / sizeof *lists; ++index) {
            CHECK_ERRNO(syscall(SYS_getdents64, lists[index], text, sizeof text), ENOENT);
        }
        CHECK_ERRNO(open(path, O_RDONLY), ENOENT);
        if (round == 1) {
            kill(next, SIGKILL);
            status_of(next);
        }
    }
    close(directory), close(again), close(threads), close(files), close(comm);
}

// What a process may ask and change about another one: whom it runs as decides.
static void others(void) {
    int ready[2];
    CHECK(pipe(ready) == 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(ready[1]);
        if (read(ready[0], &byte, 1) != 0) {
            _exit(1);
        }
        struct rlimit limit;
        cpu_set_t cpus;
        getrlimit(RLIMIT_CORE, &limit), sched_getaffinity(0, sizeof cpus, &cpus);
        _exit(limit.rlim_cur == 0 && limit.rlim_max == 4096 && CPU_COUNT(&cpus) == 1 ? 7 : 8);
    }
    close(ready[0]);
    cpu_set_t cpus, first;
    CHECK(sched_getaffinity(child, sizeof cpus, &cpus) == 0);
    CPU_ZERO(&first);
    for (int cpu = 0; CPU_COUNT(&first) == 0; ++cpu) {
        if (CPU_ISSET(cpu, &cpus)) {
            CPU_SET(cpu, &first);
        }
    }
    CHECK(sched_setaffinity(child, sizeof first, &first) == 0);
    CHECK(sched_getaffinity(child, sizeof cpus, &cpus) == 0 && CPU_EQUAL(&cpus, &first));
    struct sched_param param = {0};
    struct timespec slice;
    CHECK(sched_setscheduler(child, SCHED_BATCH, &param) == 0);
    CHECK(sched_setparam(child, &param) == 0 && sched_getparam(child, &param) == 0);
    CHECK_EQUAL(sched_getscheduler(child), SCHED_BATCH);
    CHECK(sched_rr_get_interval(child, &slice) == 0);
    errno = 0;
    CHECK(getpriority(PRIO_PROCESS, child) >= 0 && getpriority(PRIO_PGRP, getpgrp()) >= 0 && errno == 0);
    CHECK(setpriority(PRIO_PROCESS, child, 3) == 0);
    struct rlimit limit = {0, 4096}, before;
    CHECK(prlimit(child, RLIMIT_CORE, NULL, &before) == 0);
    if (before.rlim_max < 4096) {
        limit.rlim_max = before.rlim_max;
    }
    CHECK(prlimit(child, RLIMIT_CORE, &limit, NULL) == 0);
    CHECK(prlimit(child, RLIMIT_CORE, NULL, &before) == 0 && before.rlim_cur == 0);
    pid_t stranger = geteuid() == 0 ? fork() : -1;
    if (stranger == 0) {
        CHECK(setresuid(65534, 65534, 65534) == 0);
        CHECK_ERRNO(sched_setaffinity(child, sizeof first, &first), EPERM);
        CHECK_ERRNO(sched_setscheduler(child, SCHED_OTHER, &param), EPERM);
        CHECK_ERRNO(sched_setparam(child, &param), EPERM);
        CHECK_ERRNO(setpriority(PRIO_PROCESS, child, 4), EPERM);
        CHECK_ERRNO(prlimit(child, RLIMIT_CORE, NULL, &limit), EPERM);
        CHECK(sched_getaffinity(child, sizeof cpus, &cpus) == 0 && sched_getscheduler(child) == SCHED_BATCH);
        _exit(9);
    }
    CHECK(stranger < 0 || exit_of(stranger) == 9);
    close(ready[1]);
    CHECK_EQUAL(exit_of(child), limit.rlim_max == 4096 ? 7 : 8);
    CHECK_ERRNO(sched_setaffinity(child, sizeof first, &first), ESRCH);
    CHECK_ERRNO(setpriority(PRIO_PROCESS, child, 3), ESRCH);
    CHECK_ERRNO(prlimit(child, RLIMIT_CORE, NULL, &limit), ESRCH);
}

static void usage(void) {
    struct tms before, after;
    times(&before);
    pid_t child = fork();
    if (child == 0) {
        struct timespec now;
        do {
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        } while (now.tv_sec == 0 && now.tv_nsec < 60000000);
        _exit(0);
    }
    struct rusage of_child;
    int status;
    CHECK_EQUAL(wait4(child, &status, 0, &of_child), child);
    CHECK(of_child.ru_utime.tv_sec * 1000000 + of_child.ru_utime.tv_usec +
              of_child.ru_stime.tv_sec * 1000000 + of_child.ru_stime.tv_usec >=
          50000);
    times(&after);
    CHECK(after.tms_cutime + after.tms_cstime - before.tms_cutime - before.tms_cstime >= 4);
}

static long free_kib(void) {
    FILE *file = fopen("/proc/meminfo", "r");
    CHECK(file != NULL);
    char line[200];
    long kib = -1;
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "MemFree: %ld", &kib) == 1) {
            break;
        }
    }
    fclose(file);
    return kib;
}

// Where nobody else takes memory, there is as much after many processes as before.
static void leaks(void) {
    char name[20] = "";
    FILE *file = fopen("/proc/1/comm", "r");
    int is_alone = file != NULL && fgets(name, sizeof name, file) != NULL && strcmp(name, "hadal\n") == 0;
    if (file != NULL) {
        fclose(file);
    }
    long before = free_kib();
    for (int index = 0; index < 300; ++index) {
        pid_t child = fork();
        if (child == 0) {
            char *block = malloc(3 << 20);
            memset(block, 1, 3 << 20);
            if (index % 50 == 0) {
                execlp("true", "true", NULL);
            }
            _exit(0);
        }
        CHECK_EQUAL(exit_of(child), 0);
    }
    long lost = before - free_kib();
    if (is_alone && lost > 4096) {
        fprintf(stderr, "%ld KiB are lost\n", lost);
        _exit(99);
    }
}

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"basics", basics},     {"waiting", waiting}, {"many", many},
        {"programs", programs}, {"texts", texts},     {"replacing", replacing},
        {"guests", guests},     {"signals", signals}, {"signal-files", files_of_signals},
        {"groups", groups},     {"chains", chains},   {"memory", memory},
        {"threads", threads},   {"pipes", pipes},     {"locks", locks},
        {"records", records},   {"others", others},   {"usage", usage},
        {"leaks", leaks},
    };
    setvbuf(stdout, NULL, _IOLBF, 0);
    return run_parts(parts, sizeof parts / sizeof *parts, argc, argv);
}
