// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A program that becomes another one: what it keeps (id, descriptors, ignored and pending signals, mask,
// interval timer, limits, directory) and what is gone (threads wherever they are, handlers, timers, alternate
// stack, mappings), what the new one is told, scripts, programs named by descriptors, and everything that is
// refused. It replaces itself again and again; Linux says what is right.

#define _GNU_SOURCE
#include "../common/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

extern char **environ;

enum { KEPT = 20, CLOSED = 21, THREADS = 6, LONG_TEXT = 200000 };

static char self[4096];

// Becomes the next stage, whose arguments these are.
static void become(const char *path, const char *stage, const char *extra) {
    char pid[20];
    snprintf(pid, sizeof pid, "%d", getpid());
    char *arguments[] = {"exec-test", (char *)stage, pid, (char *)extra, NULL};
    char *environment[] = {"STAGE=next", "EMPTY=", NULL};
    fflush(stdout);
    execve(path, arguments, environment);
    check_failed(__FILE__, __LINE__, "execve", path);
}

static int count_entries(const char *path) {
    DIR *directory = opendir(path);
    CHECK(directory != NULL);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    closedir(directory);
    return count;
}

static void read_text(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0);
    ssize_t length = read(fd, text, size - 1);
    CHECK(length >= 0);
    text[length] = '\0';
    close(fd);
}

static atomic_int begun;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int ends[2];

// Threads that are in all kinds of places when the program is replaced.
static void *stay(void *argument) {
    long kind = (long)argument;
    atomic_fetch_add(&begun, 1);
    char byte;
    switch (kind) {
    case 0:
        for (volatile long count = 0;; ++count) {
        }
    case 1:
        pthread_mutex_lock(&mutex);
        for (;;) {
            pthread_cond_wait(&condition, &mutex);
        }
    case 2:
        CHECK(read(ends[0], &byte, 1) == 1);
        break;
    case 3:
        sleep(1000);
        break;
    case 4:
        for (;;) {
            getppid();
        }
    default:
        for (;;) {
            void *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            CHECK(memory != MAP_FAILED);
            memset(memory, 1, 1 << 20);
            munmap(memory, 1 << 20);
        }
    }
    return NULL;
}

static void start_threads(void) {
    CHECK(pipe(ends) == 0);
    for (long kind = 0; kind < THREADS; ++kind) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, stay, (void *)kind) == 0);
    }
    while (atomic_load(&begun) < THREADS) {
        sched_yield();
    }
    usleep(1000);
}

static void handler(int signo) { (void)signo; }

static void expect_mask(int how_many, ...) {
    sigset_t mask;
    CHECK(sigprocmask(SIG_BLOCK, NULL, &mask) == 0);
    va_list list;
    va_start(list, how_many);
    for (int index = 0; index < how_many; ++index) {
        CHECK(sigismember(&mask, va_arg(list, int)) == 1);
    }
    va_end(list);
    int blocked = 0;
    for (int signo = 1; signo < 32; ++signo) {
        blocked += sigismember(&mask, signo);
    }
    CHECK_EQUAL(blocked, how_many);
}

static void first(void) {
    // Descriptors.
    int fd = open("/dev/null", O_RDONLY);
    CHECK(dup2(fd, KEPT) == KEPT && dup3(fd, CLOSED, O_CLOEXEC) == CLOSED);
    close(fd);
    // Signals.
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    CHECK(signal(SIGUSR2, SIG_IGN) != SIG_ERR && signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGHUP);
    sigaddset(&blocked, SIGTERM);
    CHECK(sigprocmask(SIG_SETMASK, &blocked, NULL) == 0);
    CHECK(raise(SIGHUP) == 0 && kill(getpid(), SIGTERM) == 0);
    static char stack[65536];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    CHECK(sigaltstack(&alternate, NULL) == 0);
    // Timers.
    struct itimerval interval = {.it_value = {.tv_sec = 1000}};
    CHECK(setitimer(ITIMER_REAL, &interval, NULL) == 0);
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}, .it_interval = {.tv_nsec = 1000000}};
    CHECK(timer_settime(timer, 0, &soon, NULL) == 0);
    // The rest.
    struct rlimit limit = {.rlim_cur = 100, .rlim_max = 200};
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK(prctl(PR_SET_NAME, "renamed") == 0 && prctl(PR_SET_DUMPABLE, 0) == 0);
    umask(027);
    CHECK(mlockall(MCL_FUTURE) == 0 || errno == EPERM || errno == ENOMEM);
    start_threads();
    become(self, "second", "one\n two");
}

static void second(char **arguments) {
    CHECK_EQUAL(atoi(arguments[2]), getpid());
    CHECK_EQUAL(count_entries("/proc/self/task"), 1);
    CHECK(strcmp(arguments[0], "exec-test") == 0 && strcmp(arguments[3], "one\n two") == 0);
    CHECK(arguments[4] == NULL);
    printf("environment:");
    for (char **text = environ; *text != NULL; ++text) {
        printf(" %s", *text);
    }
    printf("\n");
    char text[8192];
    read_text("/proc/self/comm", text, sizeof text);
    CHECK(strcmp(text, "exec\n") == 0);
    read_text("/proc/self/cmdline", text, sizeof text);
    CHECK(strcmp(text, "exec-test") == 0 && strcmp(text + sizeof "exec-test", "second") == 0);
    char target[4096] = "";
    CHECK(readlink("/proc/self/exe", target, sizeof target - 1) > 0);
    CHECK(strcmp(target, self) == 0 && strcmp((char *)getauxval(AT_EXECFN), self) == 0);
    CHECK(fcntl(KEPT, F_GETFD) == 0);
    CHECK_ERRNO(fcntl(CLOSED, F_GETFD), EBADF);
    struct sigaction action;
    CHECK(sigaction(SIGUSR1, NULL, &action) == 0 && action.sa_handler == SIG_DFL && action.sa_flags == 0);
    CHECK(sigaction(SIGUSR2, NULL, &action) == 0 && action.sa_handler == SIG_IGN);
    CHECK(sigaction(SIGCHLD, NULL, &action) == 0 && action.sa_handler == SIG_IGN);
    expect_mask(2, SIGHUP, SIGTERM);
    sigset_t pending;
    CHECK(sigpending(&pending) == 0);
    CHECK(sigismember(&pending, SIGHUP) == 1 && sigismember(&pending, SIGTERM) == 1);
    struct timespec now = {0};
    CHECK_EQUAL(sigtimedwait(&pending, NULL, &now), SIGHUP);
    CHECK_EQUAL(sigtimedwait(&pending, NULL, &now), SIGTERM);
    stack_t alternate;
    CHECK(sigaltstack(NULL, &alternate) == 0 && alternate.ss_flags == SS_DISABLE);
    struct itimerval interval;
    CHECK(getitimer(ITIMER_REAL, &interval) == 0 && interval.it_value.tv_sec > 900);
    struct itimerspec gone;
    CHECK_ERRNO(syscall(SYS_timer_gettime, 0, &gone), EINVAL);
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == 100 && limit.rlim_max == 200);
    CHECK_EQUAL(prctl(PR_GET_DUMPABLE), 1);
    CHECK_EQUAL(umask(027), 027);
    printf("what is kept and what is gone\n");
    become(self, "refusals", NULL);
}

static void write_file(const char *path, const char *text, mode_t mode) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    CHECK(fchmod(fd, mode) == 0);
    close(fd);
}

static long try(const char *path, char *const *arguments, char *const *environment) {
    return syscall(SYS_execve, path, arguments, environment);
}

static void refusals(void) {
    char *none[] = {NULL};
    CHECK_ERRNO(try("/no/such/file", none, none), ENOENT);
    CHECK_ERRNO(try("", none, none), ENOENT);
    CHECK_ERRNO(try("/dev/null/file", none, none), ENOTDIR);
    CHECK_ERRNO(try("/", none, none), EACCES);
    CHECK_ERRNO(try("/dev/null", none, none), EACCES);
    CHECK_ERRNO(try(NULL, none, none), EFAULT);
    CHECK_ERRNO(try(self, (char *const *)8, none), EFAULT);
    CHECK_ERRNO(try(self, none, (char *const *)8), EFAULT);
    char *bad_text[] = {(char *)8, NULL};
    CHECK_ERRNO(try(self, bad_text, none), EFAULT);
    char *text = malloc(LONG_TEXT);
    memset(text, 'x', LONG_TEXT - 1);
    text[LONG_TEXT - 1] = '\0';
    char *long_text[] = {text, NULL};
    CHECK_ERRNO(try(self, long_text, none), E2BIG);
    CHECK_ERRNO(try(text, none, none), ENAMETOOLONG);
    // Each argument is short enough, all together are not.
    enum { MANY = 100 };
    char *many[MANY + 1] = {NULL};
    text[100000] = '\0';
    for (int index = 0; index < MANY; ++index) {
        many[index] = text;
    }
    CHECK_ERRNO(try(self, many, none), E2BIG);
    free(text);
    write_file("plain", "no program\n", 0700);
    CHECK_ERRNO(try("./plain", none, none), ENOEXEC);
    write_file("locked", "#!/bin/sh\n", 0600);
    CHECK_ERRNO(try("./locked", none, none), EACCES);
    write_file("empty", "", 0700);
    CHECK_ERRNO(try("./empty", none, none), ENOEXEC);
    write_file("nameless", "#! \n", 0700);
    CHECK_ERRNO(try("./nameless", none, none), ENOEXEC);
    write_file("lost", "#!/no/such/interpreter\n", 0700);
    CHECK_ERRNO(try("./lost", none, none), ENOENT);
    write_file("endless", "#!./endless\n", 0700);
    CHECK_ERRNO(try("./endless", none, none), ELOOP);
    write_file("cut", "\177ELF\002\001\001", 0700);
    CHECK_ERRNO(try("./cut", none, none), ENOEXEC);
    CHECK(symlink("round", "round") == 0 || errno == EEXIST);
    CHECK_ERRNO(try("./round", none, none), ELOOP);
    CHECK_ERRNO(syscall(SYS_execveat, AT_FDCWD, self, none, none, 0x8000000), EINVAL);
    CHECK_ERRNO(syscall(SYS_execveat, 99, "x", none, none, 0), EBADF);
    CHECK_ERRNO(syscall(SYS_execveat, KEPT, "x", none, none, 0), ENOTDIR);
    CHECK_ERRNO(syscall(SYS_execveat, AT_FDCWD, "round", none, none, AT_SYMLINK_NOFOLLOW), ELOOP);
    // After all that the program is as it was.
    CHECK_EQUAL(count_entries("/proc/self/task"), 1);
    printf("refusals\n");
    char script[8192];
    snprintf(script, sizeof script, "#!%s script with blanks \n", self);
    write_file("script", script, 0700);
    write_file("nested", "#!./script in between\n", 0700);
    become("./nested", "not the first", "last");
}

static void script(int count, char **arguments) {
    printf("script:");
    for (int index = 2; index < count; ++index) {
        printf(" [%s]", index == 6 ? "PID" : arguments[index]);
    }
    printf("\n");
    char text[100];
    read_text("/proc/self/comm", text, sizeof text);
    printf("name: %sstarted by: %s\n", text, (char *)getauxval(AT_EXECFN));
    int fd = open(self, O_RDONLY | O_CLOEXEC);
    char *next[] = {"by descriptor", "thread", NULL};
    fflush(stdout);
    syscall(SYS_execveat, fd, "", next, environ, AT_EMPTY_PATH);
    check_failed(__FILE__, __LINE__, "execveat", "");
}

static void *replace(void *argument) {
    become(self, "last", argument);
    return NULL;
}

// A thread that is not the first replaces the program, while others do what they do.
static void thread(char **arguments) {
    char *path = (char *)getauxval(AT_EXECFN);
    CHECK(strncmp(path, "/dev/fd/", 8) == 0);
    printf("%s: started by descriptor\n", arguments[0]);
    start_threads();
    pthread_t replacing;
    CHECK(pthread_create(&replacing, NULL, replace, "by a thread") == 0);
    pause();
}

// The interval timer expires about when threads are made to leave; what it sends is there afterwards.
static void expire_during_replacement(int round) {
    enum { SPINNING = 3 };
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    CHECK(sigprocmask(SIG_BLOCK, &alarms, NULL) == 0);
    struct timespec limit = {.tv_sec = 5};
    CHECK(round == 0 || sigtimedwait(&alarms, NULL, &limit) == SIGALRM);
    for (int index = 0; index < SPINNING; ++index) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, stay, (void *)0) == 0);
    }
    struct itimerval once = {.it_value = {.tv_usec = 1 + round * 37}};
    CHECK(setitimer(ITIMER_REAL, &once, NULL) == 0);
}

static void last(char **arguments) {
    CHECK_EQUAL(atoi(arguments[2]), getpid());
    CHECK_EQUAL(count_entries("/proc/self/task"), 1);
    printf("replaced %s\n", arguments[3]);
    fflush(stdout);
    int round = 0;
    char *count = getenv("ROUND");
    if (count != NULL) {
        round = atoi(count);
    }
    if (round < 50) {
        char text[40], pid[20];
        snprintf(text, sizeof text, "ROUND=%d", round + 1);
        snprintf(pid, sizeof pid, "%d", getpid());
        expire_during_replacement(round);
        char *environment[] = {text, NULL};
        char *next[] = {"again", "last", pid, round % 10 == 9 ? "ten times more" : "again", NULL};
        execve(self, next, environment);
        check_failed(__FILE__, __LINE__, "execve", "");
    }
    execlp("sh", "sh", "-c", "echo \"the shell has $# arguments: $*\"; exit 7", "name", "a b", "c", NULL);
}

int main(int count, char **arguments) {
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(length > 0);
    const char *stage = count > 1 ? arguments[1] : "first";
    if (strcmp(stage, "first") == 0) {
        first();
    } else if (strcmp(stage, "second") == 0) {
        second(arguments);
    } else if (strcmp(stage, "refusals") == 0) {
        refusals();
    } else if (strncmp(stage, "script", 6) == 0) {
        script(count, arguments);
    } else if (strcmp(stage, "thread") == 0) {
        thread(arguments);
    } else {
        last(arguments);
    }
    return 1;
}
