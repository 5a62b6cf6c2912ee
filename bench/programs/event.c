// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Nemo events: from the notification to its arrival on another CPU, by mechanism. The limits are a raw IPI
// and a polled cache line. Times are those of the time-stamp counter, which all CPUs share. In path mode a
// single CPU notifies itself, and the sender's and the receiver's part are figures of their own; or two CPUs
// take turns, and the time from one to the other is the instructions of both. On Linux, condition variables
// are those of pthreads; of IPIs libhrt-linux makes a signal, and of active messages a futex wake-up, each to
// a thread that sleeps on the CPU concerned and then calls the handler.

#include "bench.h"

#include <hadal/hrt.h>
#include <unistd.h>

/* How long a thread has been asleep when it is woken. Hadal's idle CPUs poll for 20 us before they halt, so
 * after the shorter time no interrupt is needed; after the longer ones the CPU has halted. */
enum { POLLING_NS = 5000, HALTED_NS = 300000, HALTED_PATH_NS = 60000 };

static unsigned samples(void) { return bench_choose(100, 1000); }

/* CPUs to notify in turn: every one but the own. */
static unsigned target_of(unsigned round) { return bench_is_alone() ? 0 : 1 + round % (bench.cpus - 1); }

static BENCH_ALIGNED uint64_t arrived;

static void give_way(void) {
    if (bench_is_alone()) {
        hrt_thread_yield();
    } else {
        bench_pause();
    }
}

/* When the notification sent at `start` has arrived. */
static void take_sample(uint64_t start) {
    while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) == 0) {
        give_way();
    }
    bench_sample(arrived - start, 1);
}

/* Whether registering worked; what a place does not have at all is no failure. */
static bool registered(const char *name, int status) {
    if (status == HRT_ENOSYS) {
        bench_skip(name, "this place has no such event");
        return false;
    }
    BENCH_CHECK(status);
    return true;
}

static HRT_HANDLER void note_arrival(void *arg) {
    (void)arg;
    __atomic_store_n(&arrived, __builtin_ia32_rdtsc(), __ATOMIC_RELEASE);
}

/* --- interrupts ----------------------------------------------------------------------------------------- */

/* To CPUs that have nothing to run, and have had nothing for so long. */
static void ipi_to_idle(const char *name, uint64_t idle_ns) {
    uint32_t vector;
    if (!registered(name, hrt_ipi_register(note_arrival, NULL, 0, &vector))) {
        return;
    }
    for (unsigned i = 0; i < bench_rounds(samples()); i++) {
        arrived = 0;
        bench_delay_ns(idle_ns);
        uint64_t start = bench_ticks();
        BENCH_CHECK(hrt_ipi_send(vector, (int32_t)target_of(i)));
        take_sample(start);
    }
    BENCH_CHECK(hrt_ipi_unregister(vector));
    bench_report(name);
}

static void ipi(const char *name) { ipi_to_idle(name, 0); }
static void ipi_halted(const char *name) { ipi_to_idle(name, HALTED_NS); }

static void notify(const char *name) {
    uint32_t event;
    if (!registered(name, hrt_event_register(note_arrival, NULL, 0, &event))) {
        return;
    }
    for (unsigned i = 0; i < bench_rounds(samples()); i++) {
        arrived = 0;
        uint64_t start = bench_ticks();
        BENCH_CHECK(hrt_event_notify(event, (int32_t)target_of(i)));
        take_sample(start);
    }
    BENCH_CHECK(hrt_event_unregister(event));
    bench_report(name);
}

/* --- both sides of an interrupt ------------------------------------------------------------------------- */

/* With interrupts off, what a CPU sends to itself waits, and the sender's part ends before the receiver's
 * begins. */
static void sides_of(const char *name, bool sender, int (*send)(uint32_t number), uint32_t number) {
    for (unsigned i = 0; i < bench_rounds(samples()); i++) {
        arrived = 0;
        uint64_t state = hrt_irq_disable();
        uint64_t start = bench_ticks();
        int status = send(number);
        uint64_t sent = bench_ticks();
        hrt_irq_restore(state);
        uint64_t end = bench_ticks();
        BENCH_CHECK(status);
        if (arrived < sent || arrived > end) {
            bench_fail("%s: the handler did not run when interrupts were on", name);
        }
        bench_sample(sender ? sent - start : end - sent, 1);
    }
    bench_report(name);
}

static int send_ipi(uint32_t vector) { return hrt_ipi_send(vector, 0); }
static int send_message(uint32_t event) { return hrt_event_notify(event, 0); }

static void ipi_side(const char *name, bool sender) {
    uint32_t vector;
    if (!bench_on_hadal()) {
        bench_skip(name, "measured in images only");
        return;
    }
    BENCH_CHECK(hrt_ipi_register(note_arrival, NULL, 0, &vector));
    sides_of(name, sender, send_ipi, vector);
    BENCH_CHECK(hrt_ipi_unregister(vector));
}

static void notify_side(const char *name, bool sender) {
    uint32_t event;
    if (!bench_on_hadal()) {
        bench_skip(name, "measured in images only");
        return;
    }
    BENCH_CHECK(hrt_event_register(note_arrival, NULL, 0, &event));
    sides_of(name, sender, send_message, event);
    BENCH_CHECK(hrt_event_unregister(event));
}

static void ipi_send(const char *name) { ipi_side(name, true); }
static void ipi_receive(const char *name) { ipi_side(name, false); }
static void notify_send(const char *name) { notify_side(name, true); }
static void notify_receive(const char *name) { notify_side(name, false); }

/* --- cache lines ---------------------------------------------------------------------------------------- */

struct line {
    void (*await)(const volatile uint64_t *word, uint64_t old);
    BENCH_ALIGNED volatile uint64_t word;
    BENCH_ALIGNED uint32_t waiting; /* round for which the other side waits */
};

static void poll_line(const volatile uint64_t *word, uint64_t old) {
    while (*word == old) {
        bench_pause();
    }
}

static void wait_for_line(const volatile uint64_t *word, uint64_t old) {
    BENCH_CHECK(hrt_memory_wait(word, old, HRT_FOREVER));
}

static void watch_line(unsigned member, void *arg) {
    struct line *line = arg;
    for (unsigned i = 0; i < bench_rounds(samples()); i++) {
        if (member == 0) {
            bench_await(&line->waiting, i + 1);
            bench_delay_ns(1000);
            arrived = 0;
            uint64_t start = bench_ticks();
            line->word = i + 1;
            take_sample(start);
        } else {
            __atomic_store_n(&line->waiting, i + 1, __ATOMIC_RELEASE);
            line->await(&line->word, i);
            __atomic_store_n(&arrived, bench_ticks(), __ATOMIC_RELEASE);
        }
    }
}

static void line_with(const char *name, void (*await)(const volatile uint64_t *word, uint64_t old)) {
    struct line line = {.await = await};
    bench_run_team(2, watch_line, &line);
    bench_report(name);
}

static void polled(const char *name) { line_with(name, poll_line); }
static void memory_wait(const char *name) {
    /* It returns at once: the word has another value. */
    volatile uint64_t word = 1;
    if (registered(name, hrt_memory_wait(&word, 0, HRT_FOREVER))) {
        line_with(name, wait_for_line);
    }
}

/* --- condition variables -------------------------------------------------------------------------------- */

/* What a waiter waits for, with either kind of condition variable. */
struct sleeper {
    uint32_t flags;
    unsigned cpu;
    BENCH_ALIGNED hrt_mutex_t mutex;
    hrt_cond_t cond;
    pthread_mutex_t posix_mutex;
    pthread_cond_t posix_cond;
    unsigned sent; /* below: by the mutex */
    unsigned seen;
    bool waits;
    bool over;
};

static void lock(struct sleeper *sleeper) {
    BENCH_CHECK(bench_on_hadal() ? hrt_mutex_lock(&sleeper->mutex)
                                 : pthread_mutex_lock(&sleeper->posix_mutex));
}

static void unlock(struct sleeper *sleeper) {
    BENCH_CHECK(bench_on_hadal() ? hrt_mutex_unlock(&sleeper->mutex)
                                 : pthread_mutex_unlock(&sleeper->posix_mutex));
}

static void wait(struct sleeper *sleeper) {
    BENCH_CHECK(bench_on_hadal() ? hrt_cond_wait(&sleeper->cond, &sleeper->mutex)
                                 : pthread_cond_wait(&sleeper->posix_cond, &sleeper->posix_mutex));
}

static void *sleep_and_wake(void *arg) {
    struct sleeper *sleeper = arg;
    bench_pin(sleeper->cpu);
    lock(sleeper);
    while (!sleeper->over) {
        sleeper->waits = true;
        while (sleeper->sent == sleeper->seen) {
            wait(sleeper);
        }
        __atomic_store_n(&arrived, bench_ticks(), __ATOMIC_RELEASE);
        sleeper->seen = sleeper->sent;
        sleeper->waits = false;
    }
    unlock(sleeper);
    return NULL;
}

/* Returns when the other thread sleeps. */
static void let_it_sleep(struct sleeper *sleeper, uint64_t ns) {
    for (;;) {
        lock(sleeper);
        bool waits = sleeper->waits && sleeper->sent == sleeper->seen;
        unlock(sleeper);
        if (waits) {
            break;
        }
        give_way();
    }
    if (!bench_is_alone()) {
        bench_delay_ns(ns);
    }
}

/* From the signal, with the mutex free, to the woken thread, with the mutex held. */
static void condvar(const char *name, uint32_t flags, uint64_t asleep_ns) {
    struct sleeper sleeper = {.flags = flags,
                              .cpu = target_of(0),
                              .mutex = HRT_MUTEX_INIT,
                              .cond = HRT_COND_INIT,
                              .posix_mutex = PTHREAD_MUTEX_INITIALIZER,
                              .posix_cond = PTHREAD_COND_INITIALIZER};
    pthread_t thread;
    unsigned rounds = bench_rounds(bench_choose(100, 600));
    BENCH_CHECK(pthread_create(&thread, NULL, sleep_and_wake, &sleeper));
    for (unsigned i = 0; i < rounds; i++) {
        let_it_sleep(&sleeper, asleep_ns);
        lock(&sleeper);
        sleeper.sent++;
        sleeper.over = i + 1 == rounds;
        arrived = 0;
        unlock(&sleeper);
        uint64_t start = bench_ticks();
        BENCH_CHECK(bench_on_hadal() ? hrt_cond_signal(&sleeper.cond, flags)
                                     : pthread_cond_signal(&sleeper.posix_cond));
        take_sample(start);
    }
    BENCH_CHECK(pthread_join(thread, NULL));
    bench_report(name);
}

static void condvar_wake(const char *name) { condvar(name, HRT_WAKE_NO_KICK, 0); }
static void condvar_wake_kick(const char *name) { condvar(name, HRT_WAKE_KICK, 0); }
static void condvar_polling(const char *name) { condvar(name, HRT_WAKE_KICK, POLLING_NS); }
static void condvar_halted(const char *name) {
    condvar(name, HRT_WAKE_KICK, bench_choose(HALTED_PATH_NS, HALTED_NS));
}
static void condvar_halted_no_kick(const char *name) { condvar(name, HRT_WAKE_NO_KICK, HALTED_NS); }

/* --- a system call for another CPU ---------------------------------------------------------------------- */

/* The action of an active message may not call the kernel for the program; it wakes a thread there that does.
 */
static BENCH_ALIGNED uint32_t request;
static BENCH_ALIGNED uint32_t answer;

static HRT_HANDLER void take_request(void *arg) {
    (void)arg;
    __atomic_fetch_add(&request, 1, __ATOMIC_RELEASE);
    hrt_wake(&request, 1, HRT_WAKE_KICK);
}

static void *serve(void *arg) {
    unsigned rounds = *(unsigned *)arg;
    bench_pin(1);
    for (unsigned i = 0; i < rounds; i++) {
        while (__atomic_load_n(&request, __ATOMIC_ACQUIRE) == i) {
            hrt_wait(&request, i, HRT_FOREVER, 0);
        }
        getppid();
        __atomic_store_n(&answer, i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

/* There and back: the caller has its answer. */
static void forwarded_syscall(const char *name) {
    uint32_t event;
    unsigned rounds = bench_rounds(samples());
    pthread_t server;
    request = answer = 0;
    if (!registered(name, hrt_event_register(take_request, NULL, 0, &event))) {
        return;
    }
    BENCH_CHECK(pthread_create(&server, NULL, serve, &rounds));
    for (unsigned i = 0; i < rounds; i++) {
        bench_delay_ns(POLLING_NS);
        uint64_t start = bench_ticks();
        BENCH_CHECK(hrt_event_notify(event, 1));
        bench_await(&answer, i + 1);
        bench_sample(bench_ticks() - start, 1);
    }
    BENCH_CHECK(pthread_join(server, NULL));
    BENCH_CHECK(hrt_event_unregister(event));
    bench_report(name);
}

static const struct bench_figure figures[] = {
    {"event.ipi", ipi},
    {"event.ipi_halted", ipi_halted},
    {"event.ipi_send", ipi_send},
    {"event.ipi_receive", ipi_receive},
    {"event.notify", notify},
    {"event.notify_send", notify_send},
    {"event.notify_receive", notify_receive},
    {"event.polled", polled},
    {"event.memory_wait", memory_wait},
    {"event.condvar_wake", condvar_wake},
    {"event.condvar_wake_kick", condvar_wake_kick},
    {"event.condvar_polling", condvar_polling},
    {"event.condvar_both_polling", condvar_polling},
    {"event.condvar_halted", condvar_halted},
    {"event.condvar_halted_no_kick", condvar_halted_no_kick},
    {"event.forwarded_syscall", forwarded_syscall},
};

BENCH_HRT_MAIN(figures)
