// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What becomes of a call that a signal interrupts: every call that waits, with a handler with and without
// SA_RESTART, with a signal that is ignored, and with one that another thread takes away. One line for each
// call; Linux says what is right.

#define _GNU_SOURCE
#include "../common/check.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>

enum { MS = 1000000, LONG_MS = 400, SECOND = 1000 };

static atomic_int handled;
static atomic_uint word;
static atomic_int caller;
static atomic_int returned;
static atomic_llong began_ms;
static int ends[2];
static int full[2];
static int counter;
static int locked[2];

static void handler(int number) {
    (void)number;
    handled++;
}

static struct timespec span(long ms) { return (struct timespec){ms / 1000, ms % 1000 * MS}; }

static struct timespec in(clockid_t clock, long ms) {
    struct timespec now;
    clock_gettime(clock, &now);
    long ns = now.tv_nsec + ms % 1000 * MS;
    return (struct timespec){now.tv_sec + ms / 1000 + ns / (1000 * MS), ns % (1000 * MS)};
}

static long long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / MS;
}

static long futex(int operation, unsigned value, struct timespec *time, unsigned bits) {
    return syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, time, NULL, bits);
}

// 0 for the result that is a success.
static long without(long result, long success) { return result == success ? 0 : result; }

// The calls. Those of the first list wait until `complete` does something for them, the others for a time.
static long call_read(void) {
    char byte;
    return without(read(ends[0], &byte, 1), 1);
}

static long call_write(void) {
    char byte = 'w';
    return without(write(full[1], &byte, 1), 1);
}

static long call_eventfd(void) {
    uint64_t value;
    return without(read(counter, &value, sizeof value), 8);
}

static long call_poll(void) {
    struct pollfd asked = {ends[0], POLLIN, 0};
    return without(poll(&asked, 1, -1), 1);
}

static long call_poll_limited(void) {
    struct pollfd asked = {ends[0], POLLIN, 0};
    return without(poll(&asked, 1, 300 * SECOND), 1);
}

static long call_ppoll(void) {
    struct pollfd asked = {ends[0], POLLIN, 0};
    struct timespec limit = span(300 * SECOND);
    return without(ppoll(&asked, 1, &limit, NULL), 1);
}

static long call_select(void) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    return without(select(ends[0] + 1, &set, NULL, NULL, NULL), 1);
}

static long call_pselect(void) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    struct timespec limit = span(300 * SECOND);
    return without(pselect(ends[0] + 1, &set, NULL, NULL, &limit, NULL), 1);
}

static long call_futex(void) { return futex(FUTEX_WAIT, 0, NULL, 0); }

static long call_futex_limited(void) {
    struct timespec limit = span(300 * SECOND);
    return futex(FUTEX_WAIT, 0, &limit, 0);
}

static long call_futex_bitset(void) { return futex(FUTEX_WAIT_BITSET, 0, NULL, 1); }

static long call_futex_until(void) {
    struct timespec until = in(CLOCK_MONOTONIC, 300 * SECOND);
    return futex(FUTEX_WAIT_BITSET, 0, &until, 1);
}

static long call_lock_pi(void) { return futex(FUTEX_LOCK_PI, 0, NULL, 0); }

static long call_lock_pi_until(void) {
    struct timespec until = in(CLOCK_REALTIME, 300 * SECOND);
    return futex(FUTEX_LOCK_PI, 0, &until, 0);
}

static long call_flock(void) { return flock(locked[1], LOCK_EX); }

static long call_sigtimedwait(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    struct timespec limit = span(300 * SECOND);
    return without(sigtimedwait(&set, NULL, &limit), SIGUSR2);
}

static long call_nanosleep(void) {
    struct timespec time = span(LONG_MS);
    return syscall(SYS_nanosleep, &time, NULL);
}

static long call_clock_nanosleep(void) {
    struct timespec time = span(LONG_MS);
    return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL);
}

static long call_sleep_until(void) {
    struct timespec time = in(CLOCK_MONOTONIC, LONG_MS);
    return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static long call_poll_time(void) { return poll(NULL, 0, LONG_MS); }

static long call_select_time(void) {
    struct timeval limit = {0, LONG_MS * 1000L};
    return select(0, NULL, NULL, NULL, &limit);
}

static long call_ppoll_time(void) {
    struct timespec limit = span(LONG_MS);
    return ppoll(NULL, 0, &limit, NULL);
}

static long call_futex_time(void) {
    struct timespec limit = span(LONG_MS);
    long result = futex(FUTEX_WAIT, 0, &limit, 0);
    return result == -1 && errno == ETIMEDOUT ? 0 : result;
}

static long call_sigtimedwait_time(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    struct timespec limit = span(LONG_MS);
    long result = sigtimedwait(&set, NULL, &limit);
    return result == -1 && errno == EAGAIN ? 0 : result;
}

static const struct {
    const char *name;
    long (*call)(void);
    // The call waits for a time, not for `complete`.
    int timed;
} calls[] = {
    {"read", call_read, 0},
    {"write", call_write, 0},
    {"read of an eventfd", call_eventfd, 0},
    {"poll", call_poll, 0},
    {"poll with a limit", call_poll_limited, 0},
    {"ppoll", call_ppoll, 0},
    {"select", call_select, 0},
    {"pselect", call_pselect, 0},
    {"futex wait", call_futex, 0},
    {"futex wait with a limit", call_futex_limited, 0},
    {"futex wait by bits", call_futex_bitset, 0},
    {"futex wait until a time", call_futex_until, 0},
    {"futex lock", call_lock_pi, 0},
    {"futex lock until a time", call_lock_pi_until, 0},
    {"flock", call_flock, 0},
    {"sigtimedwait", call_sigtimedwait, 0},
    {"nanosleep", call_nanosleep, 1},
    {"clock_nanosleep", call_clock_nanosleep, 1},
    {"clock_nanosleep until a time", call_sleep_until, 1},
    {"poll for a time", call_poll_time, 1},
    {"select for a time", call_select_time, 1},
    {"ppoll for a time", call_ppoll_time, 1},
    {"futex for a time", call_futex_time, 1},
    {"sigtimedwait for a time", call_sigtimedwait_time, 1},
};

enum { CALLS = sizeof calls / sizeof calls[0] };

// Lets a call of the first list succeed.
static void complete(pthread_t thread) {
    char byte = 'c';
    uint64_t one = 1;
    CHECK_EQUAL(write(ends[1], &byte, 1), 1);
    CHECK_EQUAL(read(full[0], (char[4096]){0}, 4096), 4096);
    CHECK_EQUAL(write(counter, &one, sizeof one), sizeof one);
    CHECK_EQUAL(flock(locked[0], LOCK_UN), 0);
    if (futex(FUTEX_UNLOCK_PI, 0, NULL, 0) != 0) {
        futex(FUTEX_WAKE, 1, NULL, 0);
    }
    pthread_kill(thread, SIGUSR2);
}

// Whether the caller sleeps in the kernel; not if it has ended.
static int sleeps(void) {
    char path[64];
    char text[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)caller);
    int file = open(path, O_RDONLY);
    if (file < 0) {
        CHECK(errno == ENOENT && returned);
        return 0;
    }
    if (read(file, text, sizeof text - 1) <= 0) {
        CHECK(returned);
        text[0] = 0;
    }
    close(file);
    const char *state = strrchr(text, ')');
    return state != NULL && state[2] == 'S';
}

static void wait_until_it_sleeps(void) {
    int seen = 0;
    while (!returned && seen < 5) {
        seen = sleeps() ? seen + 1 : 0;
        usleep(2000);
    }
}

static void *call(void *argument) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK_EQUAL(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
    int index = (int)(intptr_t)argument;
    long long start = began_ms = now_ms();
    caller = (int)syscall(SYS_gettid);
    long result = calls[index].call();
    int error = errno;
    returned = 1;
    const char *outcome = result == 0 ? "done" : result == -1 ? strerrorname_np(error) : "wrong";
    // It has waited for all its time, and not for that time again.
    if (result == 0 && calls[index].timed && now_ms() - start < LONG_MS) {
        outcome = "too soon";
    }
    return (void *)outcome;
}

// One try; false if the machine was so slow that the call's time may have passed before the signal came.
static int try_once(int index, int flags, void (*action)(int), void **outcome) {
    pthread_t thread;
    struct sigaction how;
    memset(&how, 0, sizeof how);
    how.sa_handler = action;
    how.sa_flags = flags;
    CHECK_EQUAL(sigaction(SIGUSR1, &how, NULL), 0);
    returned = 0;
    caller = 0;
    handled = 0;
    word = 0;
    CHECK_EQUAL(pipe(ends), 0);
    CHECK_EQUAL(pipe(full), 0);
    CHECK_EQUAL(fcntl(full[1], F_SETPIPE_SZ, 4096), 4096);
    CHECK_EQUAL(write(full[1], (char[4096]){0}, 4096), 4096);
    counter = eventfd(0, 0);
    CHECK_EQUAL(flock(locked[0], LOCK_EX), 0);
    if (calls[index].call == call_lock_pi || calls[index].call == call_lock_pi_until) {
        CHECK_EQUAL(futex(FUTEX_LOCK_PI, 0, NULL, 0), 0);
    }
    CHECK_EQUAL(pthread_create(&thread, NULL, call, (void *)(intptr_t)index), 0);
    while (caller == 0) {
        usleep(1000);
    }
    wait_until_it_sleeps();
    CHECK_EQUAL(pthread_kill(thread, SIGUSR1), 0);
    while (action == handler && handled == 0) {
        usleep(1000);
    }
    int in_time = !calls[index].timed || now_ms() - began_ms < LONG_MS * 3 / 4;
    wait_until_it_sleeps();
    if (!calls[index].timed) {
        // The signal for sigtimedwait is blocked everywhere, and nobody waits for it otherwise.
        complete(thread);
    }
    CHECK_EQUAL(pthread_join(thread, outcome), 0);
    flock(locked[1], LOCK_UN);
    close(counter);
    for (int end = 0; end < 2; end++) {
        close(ends[end]);
        close(full[end]);
    }
    return in_time;
}

static const char *try(int index, int flags, void (*action)(int)) {
    void *outcome;
    while (!try_once(index, flags, action, &outcome)) {
    }
    return outcome;
}

// A signal of the process that wakes one thread, while another may take it away: without a handler nothing
// ends.
static atomic_int thief_done;

static void *steal(void *argument) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    struct timespec none = {0, 0};
    for (int i = 0; i < 3000; i++) {
        CHECK_EQUAL(kill(getpid(), SIGUSR1), 0);
        sigtimedwait(&set, NULL, &none);
    }
    thief_done = 1;
    return argument;
}

static void stolen_signals(void) {
    pthread_t other;
    struct sigaction how;
    memset(&how, 0, sizeof how);
    how.sa_handler = handler;
    CHECK_EQUAL(sigaction(SIGUSR1, &how, NULL), 0);
    CHECK_EQUAL(pthread_create(&other, NULL, steal, NULL), 0);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK_EQUAL(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
    for (int round = 0; !thief_done; round++) {
        struct timespec time = span(3);
        struct timespec limit = span(3);
        int before = handled;
        long long start = now_ms();
        long result = -1;
        int expected = 0;
        switch (round % 3) {
        case 0:
            result = syscall(SYS_nanosleep, &time, NULL);
            break;
        case 1:
            result = poll(NULL, 0, 3);
            break;
        case 2:
            result = futex(FUTEX_WAIT, word, &limit, 0);
            expected = ETIMEDOUT;
            break;
        }
        int error = result == -1 ? errno : 0;
        if (error == EINTR) {
            CHECK(handled != before);
        } else {
            CHECK_EQUAL(error, expected);
            CHECK(now_ms() - start >= 2);
        }
    }
    CHECK_EQUAL(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
    CHECK_EQUAL(pthread_join(other, NULL), 0);
    printf("stolen signals: ok\n");
}

// A wait of 100 ms ends although a timer of 10 ms interrupts it, and whoever waits goes on.
static void under_a_timer(void) {
    struct sigaction how;
    memset(&how, 0, sizeof how);
    how.sa_handler = handler;
    how.sa_flags = SA_RESTART;
    CHECK_EQUAL(sigaction(SIGALRM, &how, NULL), 0);
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGALRM;
    timer_t timer;
    CHECK_EQUAL(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    struct itimerspec often = {span(10), span(10)};
    CHECK_EQUAL(timer_settime(timer, 0, &often, NULL), 0);
    struct timespec limit = span(100);
    CHECK_ERRNO(futex(FUTEX_WAIT, word, &limit, 0), EINTR);
    CHECK_EQUAL(timer_delete(timer), 0);
    // Only the kernel has something to go on with.
    CHECK_ERRNO(syscall(SYS_restart_syscall), EINTR);
    printf("under a timer: ok\n");
}

int main(void) {
    char path[] = "/tmp/restart-XXXXXX";
    locked[0] = mkstemp(path);
    CHECK(locked[0] >= 0);
    locked[1] = open(path, O_RDWR);
    CHECK(locked[1] >= 0);
    CHECK_EQUAL(unlink(path), 0);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    CHECK_EQUAL(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
    for (int index = 0; index < CALLS; index++) {
        const char *restarting = try(index, SA_RESTART, handler);
        const char *plain = try(index, 0, handler);
        const char *ignored = try(index, 0, SIG_IGN);
        printf("%s: SA_RESTART %s, without %s, ignored %s\n", calls[index].name, restarting, plain, ignored);
        fflush(stdout);
    }
    under_a_timer();
    stolen_signals();
    return 0;
}
