// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Signals: the same source in every place. Handlers do next to nothing; what they note is when they began.

#include "bench.h"

#include <signal.h>

static BENCH_ALIGNED uint64_t handled_ticks; /* when the handler began; 0: not yet */

static void note(int number) {
    (void)number;
    __atomic_store_n(&handled_ticks, bench_ticks(), __ATOMIC_RELEASE);
}

static void handle(int flags) {
    struct sigaction action = {.sa_handler = note, .sa_flags = flags};
    BENCH_EXPECT(sigaction(SIGUSR1, &action, NULL), 0);
}

/* --- to oneself ----------------------------------------------------------------------------------------- */

/* From the call to its return, the handler in between. */
static void raise_figure(const char *name) {
    handle(0);
    BENCH_TIME(200, 2000, BENCH_EXPECT(raise(SIGUSR1), 0));
    bench_report(name);
}

static char other_stack[64 << 10];

static void raise_altstack(const char *name) {
    stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    BENCH_EXPECT(sigaltstack(&stack, NULL), 0);
    handle(SA_ONSTACK);
    BENCH_TIME(200, 2000, BENCH_EXPECT(raise(SIGUSR1), 0));
    stack.ss_flags = SS_DISABLE;
    BENCH_EXPECT(sigaltstack(&stack, NULL), 0);
    bench_report(name);
}

/* A signal that is ignored: what raising costs without delivery. */
static void raise_ignored(const char *name) {
    BENCH_EXPECT(signal(SIGUSR1, SIG_IGN) == SIG_ERR, false);
    BENCH_TIME(200, 2000, BENCH_EXPECT(raise(SIGUSR1), 0));
    bench_report(name);
}

/* --- to another thread ---------------------------------------------------------------------------------- */

struct target {
    bool sleeps;
    BENCH_ALIGNED uint32_t ready;
    BENCH_ALIGNED uint32_t over;
};

/* Either runs until a signal comes, or sleeps. */
static void *be_target(void *arg) {
    struct target *target = arg;
    bench_pin(bench_other_cpu());
    sigset_t blocked, none;
    sigemptyset(&none);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    if (target->sleeps) {
        /* The signal can only come while sigsuspend() waits. */
        BENCH_CHECK(pthread_sigmask(SIG_BLOCK, &blocked, NULL));
    }
    __atomic_store_n(&target->ready, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&target->over, __ATOMIC_ACQUIRE) == 0) {
        if (target->sleeps) {
            sigsuspend(&none);
        } else {
            bench_pause();
        }
    }
    return NULL;
}

/* From the call to the handler's beginning in the other thread. */
static void to_thread(const char *name, bool sleeps) {
    enum { SLEEP_NS = 5000 };
    struct target target = {.sleeps = sleeps};
    pthread_t thread;
    handle(0);
    BENCH_CHECK(pthread_create(&thread, NULL, be_target, &target));
    bench_await(&target.ready, 1);
    for (unsigned i = 0; i < bench_rounds(bench_choose(100, 1000)); i++) {
        if (bench_is_alone()) {
            sched_yield(); /* the other thread goes to sleep */
        } else {
            bench_delay_ns(SLEEP_NS);
        }
        handled_ticks = 0;
        uint64_t start = bench_ticks();
        BENCH_CHECK(pthread_kill(thread, SIGUSR1));
        while (__atomic_load_n(&handled_ticks, __ATOMIC_ACQUIRE) == 0) {
            bench_give_way();
        }
        bench_sample(handled_ticks - start, 1);
    }
    __atomic_store_n(&target.over, 1, __ATOMIC_RELEASE);
    BENCH_CHECK(pthread_kill(thread, SIGUSR1)); /* the one that sleeps looks again */
    BENCH_CHECK(pthread_join(thread, NULL));
    bench_report(name);
}

static void to_sleeping(const char *name) { to_thread(name, true); }
static void to_running(const char *name) { to_thread(name, false); }

/* --- masks, handlers and stacks ------------------------------------------------------------------------- */

static void set_mask(const char *name) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    for (unsigned i = 0; i < bench_rounds(bench_choose(200, 2000)); i++) {
        uint64_t start = bench_ticks();
        BENCH_EXPECT(sigprocmask(SIG_BLOCK, &set, NULL), 0);
        BENCH_EXPECT(sigprocmask(SIG_UNBLOCK, &set, NULL), 0);
        bench_sample(bench_ticks() - start, 2);
    }
    bench_report(name);
}

static void set_handler(const char *name) {
    struct sigaction action = {.sa_handler = note};
    BENCH_TIME(200, 2000, BENCH_EXPECT(sigaction(SIGUSR2, &action, NULL), 0));
    bench_report(name);
}

static void set_stack(const char *name) {
    stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    BENCH_TIME(200, 2000, BENCH_EXPECT(sigaltstack(&stack, NULL), 0));
    stack.ss_flags = SS_DISABLE;
    BENCH_EXPECT(sigaltstack(&stack, NULL), 0);
    bench_report(name);
}

static const struct bench_figure figures[] = {
    {"signal.raise", raise_figure},          {"signal.raise_altstack", raise_altstack},
    {"signal.raise_ignored", raise_ignored}, {"signal.to_sleeping", to_sleeping},
    {"signal.to_running", to_running},       {"signal.sigprocmask", set_mask},
    {"signal.sigaction", set_handler},       {"signal.sigaltstack", set_stack},
};

BENCH_MAIN(figures)
