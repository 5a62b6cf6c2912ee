/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Active messages: one CPU, sets of CPUs, all of them; waits; what handlers may call; misuse that is an
 * error. */
#define _GNU_SOURCE
#include "event.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

static struct counter runs[CPUS_MAX];

static HRT_HANDLER void count_here(void *arg) {
    (void)arg;
    count(&runs[hrt_cpu_self()]);
}

static uint64_t all_runs(void) {
    uint64_t sum = 0;
    for (uint32_t cpu = 0; cpu < cpus(); cpu++) {
        sum += count_of(&runs[cpu]);
    }
    return sum;
}

static void reset(void) { clear(runs); }

/* Each CPU, the own one among them, runs the action once for one notification. */
static void one_by_one(uint32_t event) {
    for (uint32_t cpu = 0; cpu < cpus(); cpu++) {
        for (uint64_t round = 1; round <= 20; round++) {
            CHECK(hrt_event_notify(event, (int32_t)cpu) == HRT_OK);
            UNTIL(count_of(&runs[cpu]) == round);
        }
    }
    CHECK(all_runs() == 20 * (uint64_t)cpus());
    reset();
}

static void broadcast(uint32_t event) {
    for (uint64_t round = 1; round <= 20; round++) {
        CHECK(hrt_event_notify_all(event, HRT_EVENT_SELF) == HRT_OK);
        UNTIL(all_runs() == round * cpus());
    }
    reset();
    for (uint64_t round = 1; round <= 20; round++) {
        run_on((uint32_t)round % cpus());
        CHECK(hrt_event_notify_all(event, 0) == HRT_OK);
        UNTIL(all_runs() == round * (cpus() - 1));
    }
    reset();
}

static void sets(uint32_t event) {
    uint64_t set[CPUS_MAX / 64 + 1] = {0};
    uint64_t members = 0;
    for (uint32_t cpu = 0; cpu < cpus(); cpu += 2) {
        set[cpu / 64] |= 1ul << cpu % 64;
        members++;
    }
    CHECK(hrt_event_notify_set(event, set, sizeof set / sizeof *set) == HRT_OK);
    UNTIL(all_runs() == members);
    for (uint32_t cpu = 1; cpu < cpus(); cpu += 2) {
        CHECK(count_of(&runs[cpu]) == 0);
    }
    reset();
    /* No CPU is notified when one does not exist. */
    set[cpus() / 64] |= 1ul << cpus() % 64;
    CHECK(hrt_event_notify_set(event, set, sizeof set / sizeof *set) == HRT_EINVAL);
    CHECK(!has(CHECKED_POINTERS) || hrt_event_notify_set(event, (void *)64, 1) == HRT_EFAULT);
    CHECK(hrt_event_notify_set(event, NULL, 0) == HRT_OK);
    CHECK(all_runs() == 0);
}

/* Notifications become one until the action runs, and never none. */
static void merging(void) {
    int32_t last = (int32_t)cpus() - 1;
    for (int round = 0; round < 50; round++) {
        uint32_t event;
        CHECK(hrt_event_register(count_here, NULL, 0, &event) == HRT_OK);
        for (int i = 0; i < 100; i++) {
            CHECK(hrt_event_notify(event, last) == HRT_OK);
        }
        UNTIL(count_of(&runs[last]) > 0);
        CHECK(hrt_event_unregister(event) == HRT_OK);
        CHECK(count_of(&runs[last]) <= 100);
        reset();
    }
}

static uint32_t ring_event;
static struct counter laps;

/* Handler-safe functions, called from one: the next CPU is notified, until the ring has been gone round often
 * enough. */
static HRT_HANDLER void pass_on(void *arg) {
    uint64_t own = hrt_cpu_self();
    uint64_t set[1] = {1};
    count(&laps);
    if (count_of(&laps) < (uint64_t)(uintptr_t)arg) {
        hrt_event_notify(ring_event, (int32_t)((own + 1) % cpus()));
    } else {
        /* What is not for handlers is refused; a pointer to the handler's own stack is as good as any. */
        uint32_t event;
        count(&runs[hrt_event_register(pass_on, NULL, 0, &event) == HRT_EPERM ? 0 : 1]);
        count(&runs[hrt_event_notify_set(ring_event, set, 0) == HRT_OK ? 0 : 1]);
        count(&runs[hrt_now_ns() > 0 ? 0 : 1]);
    }
}

static void ring(void) {
    uint64_t steps = 100 * cpus() + 1;
    CHECK(hrt_event_register(pass_on, (void *)steps, 0, &ring_event) == HRT_OK);
    CHECK(hrt_event_notify(ring_event, 0) == HRT_OK);
    UNTIL(count_of(&laps) == steps && all_runs() == 3);
    CHECK(count_of(&runs[0]) == 3);
    CHECK(hrt_event_unregister(ring_event) == HRT_OK);
    reset();
}

static double disturbed[8];

static void use_vectors(void *arg) {
    for (int i = 0; i < 8; i++) {
        disturbed[i] = sqrt(disturbed[i] + *(double *)arg);
    }
    count_here(NULL);
}

/* An action that uses vector registers does not change those of the code that it interrupts. */
static void vectors(void) {
    static double two = 2.0;
    uint32_t event;
    CHECK(hrt_event_register(use_vectors, &two, HRT_HANDLER_VECTORS, &event) == HRT_OK);
    disturbed[0] = 1.0;
    run_on(0);
    for (uint64_t round = 1; round <= 200; round++) {
        double sum = 0;
        CHECK(hrt_event_notify(event, 0) == HRT_OK);
        if (cpus() > 1) {
            CHECK(hrt_event_notify(event, 1) == HRT_OK);
        }
        for (int i = 1; i <= 1000; i++) {
            sum += 1.0 / i - 1.0 / (i + 1);
        }
        CHECK(fabs(sum - 1000.0 / 1001.0) < 1e-12);
        UNTIL(count_of(&runs[0]) == round);
    }
    CHECK(hrt_event_unregister(event) == HRT_OK);
    CHECK(disturbed[0] > 1.0 && disturbed[0] <= 2.0);
    reset();
}

static void errors(uint32_t event) {
    uint32_t other;
    CHECK(hrt_event_notify(event, -1) == HRT_EINVAL);
    CHECK(hrt_event_notify(event, (int32_t)cpus()) == HRT_EINVAL);
    CHECK(hrt_event_notify(event + HRT_EVENTS_MAX, 0) == HRT_EINVAL);
    CHECK(hrt_event_notify(0, 0) == HRT_EINVAL);
    CHECK(hrt_event_notify_all(event, 0x80) == HRT_EINVAL);
    CHECK(hrt_event_notify_all(event + HRT_EVENTS_MAX, 0) == HRT_EINVAL);
    CHECK(hrt_event_register(count_here, NULL, 0x80, &other) == HRT_EINVAL);
    CHECK(hrt_event_register(count_here, NULL, 0, NULL) == HRT_EFAULT);
    CHECK(!has(CHECKED_POINTERS) ||
          hrt_event_register((hrt_handler_fn)0xffff800000000000ul, NULL, 0, &other) == HRT_EINVAL);
    CHECK(hrt_event_unregister(event + HRT_EVENTS_MAX) == HRT_ESRCH);
    uint64_t seen = 0;
    CHECK(hrt_event_wait(event + HRT_EVENTS_MAX, &seen, HRT_FOREVER) == HRT_ESRCH);
    CHECK(hrt_event_wait(event, NULL, 0) == HRT_EFAULT);
}

static void full_table(void) {
    uint32_t events[HRT_EVENTS_MAX];
    uint32_t taken = 0;
    int status;
    while ((status = hrt_event_register(NULL, NULL, 0, &events[taken])) == HRT_OK) {
        taken++;
        CHECK(taken < HRT_EVENTS_MAX);
    }
    /* The test has one of its own. */
    CHECK(status == HRT_ENOSPC && taken == HRT_EVENTS_MAX - 1);
    for (uint32_t i = 0; i < taken; i++) {
        CHECK(hrt_event_notify_all(events[i], HRT_EVENT_SELF) == HRT_OK);
        CHECK(hrt_event_unregister(events[i]) == HRT_OK);
        CHECK(hrt_event_unregister(events[i]) == HRT_ESRCH);
        CHECK(hrt_event_notify(events[i], 0) == HRT_EINVAL);
    }
}

struct waiter {
    uint32_t event;
    uint32_t cpu;
    int rounds;
    uint64_t seen;
};

static void *wait_for_events(void *arg) {
    struct waiter *waiter = arg;
    run_on(waiter->cpu);
    uint64_t seen = 0;
    int status = hrt_event_wait(waiter->event, &seen, 0);
    CHECK(status == HRT_OK || status == HRT_ETIMEDOUT);
    __atomic_store_n(&waiter->seen, 1, __ATOMIC_RELEASE);
    for (int round = 0; round < waiter->rounds; round++) {
        uint64_t before = seen;
        CHECK(hrt_event_wait(waiter->event, &seen, HRT_FOREVER) == HRT_OK);
        CHECK(seen > before);
        __atomic_fetch_add(&waiter->seen, seen - before, __ATOMIC_RELEASE);
    }
    /* Forever: until the event is taken away. */
    while ((status = hrt_event_wait(waiter->event, &seen, HRT_FOREVER)) == HRT_OK) {
    }
    CHECK(status == HRT_ESRCH);
    return NULL;
}

static void waits(void) {
    uint32_t event;
    uint64_t seen = 0;
    CHECK(hrt_event_register(NULL, NULL, 0, &event) == HRT_OK);
    run_on(0);
    CHECK(hrt_event_wait(event, &seen, hrt_now_ns() + 2000000) == HRT_ETIMEDOUT);
    CHECK(hrt_event_notify(event, 0) == HRT_OK);
    uint64_t before = seen;
    CHECK(hrt_event_wait(event, &seen, HRT_FOREVER) == HRT_OK && seen == before + 1);
    uint32_t threads = cpus() < 8 ? 2 * cpus() : 8;
    struct waiter waiters[16];
    pthread_t ids[16];
    for (uint32_t i = 0; i < threads; i++) {
        waiters[i] = (struct waiter){.event = event, .cpu = i % cpus(), .rounds = 20, .seen = 0};
        CHECK(pthread_create(&ids[i], NULL, wait_for_events, &waiters[i]) == 0);
    }
    for (uint32_t i = 0; i < threads; i++) {
        UNTIL(__atomic_load_n(&waiters[i].seen, __ATOMIC_ACQUIRE) > 0);
    }
    for (uint64_t round = 2; round <= 21; round++) {
        CHECK(hrt_event_notify_all(event, HRT_EVENT_SELF) == HRT_OK);
        for (uint32_t i = 0; i < threads; i++) {
            UNTIL(__atomic_load_n(&waiters[i].seen, __ATOMIC_ACQUIRE) >= round);
        }
    }
    CHECK(hrt_event_unregister(event) == HRT_OK);
    for (uint32_t i = 0; i < threads; i++) {
        CHECK(pthread_join(ids[i], NULL) == 0);
    }
}

static uint64_t word;

static void *change_word(void *arg) {
    (void)arg;
    run_on(cpus() - 1);
    usleep(2000);
    __atomic_store_n(&word, 2, __ATOMIC_RELEASE);
    return NULL;
}

static void memory(void) {
    CHECK(hrt_memory_wait(&word, 1, HRT_FOREVER) == HRT_OK);
    CHECK(hrt_memory_wait(&word, 0, hrt_now_ns() + 3000000) == HRT_ETIMEDOUT);
    CHECK(hrt_memory_wait(&word, 0, 0) == HRT_ETIMEDOUT);
    CHECK(hrt_memory_wait((uint64_t *)((char *)&word + 1), 0, 0) == HRT_EINVAL);
    if (has(CHECKED_POINTERS)) {
        CHECK(hrt_memory_wait((uint64_t *)64, 0, HRT_FOREVER) == HRT_EFAULT);
        CHECK(hrt_memory_wait((uint64_t *)0xffff800000000000ul, 0, HRT_FOREVER) == HRT_EFAULT);
    }
    for (int round = 0; round < 5; round++) {
        pthread_t thread;
        word = 1;
        run_on(0);
        CHECK(pthread_create(&thread, NULL, change_word, NULL) == 0);
        CHECK(hrt_memory_wait(&word, 1, HRT_FOREVER) == HRT_OK);
        CHECK(word == 2);
        CHECK(pthread_join(thread, NULL) == 0);
    }
}

static uint32_t fleeting;
static int stop;

static void *notify_without_end(void *arg) {
    (void)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        uint32_t event = __atomic_load_n(&fleeting, __ATOMIC_ACQUIRE);
        int status = hrt_event_notify_all(event, HRT_EVENT_SELF);
        CHECK(status == HRT_OK || status == HRT_EINVAL);
        status = hrt_event_notify(event, (int32_t)(event % cpus()));
        CHECK(status == HRT_OK || status == HRT_EINVAL);
    }
    return NULL;
}

static HRT_HANDLER void expect_alive(void *arg) {
    if (!__atomic_load_n((int *)arg, __ATOMIC_ACQUIRE)) {
        count(&laps);
    }
}

/* An action never runs after its event was taken away, whatever notifications are on their way. */
static void registrations(void) {
    static int alive[64];
    pthread_t threads[2];
    laps.value = 0;
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_create(&threads[i], NULL, notify_without_end, NULL) == 0);
    }
    for (int round = 0; round < 200; round++) {
        uint32_t event;
        int *own = &alive[round % 64];
        __atomic_store_n(own, 1, __ATOMIC_RELEASE);
        CHECK(hrt_event_register(expect_alive, own, 0, &event) == HRT_OK);
        __atomic_store_n(&fleeting, event, __ATOMIC_RELEASE);
        sched_yield();
        CHECK(hrt_event_unregister(event) == HRT_OK);
        __atomic_store_n(own, 0, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(count_of(&laps) == 0);
}

int main(void) {
    uint32_t event;
    reset();
    CHECK(hrt_event_register(count_here, NULL, 0, &event) == HRT_OK);
    one_by_one(event);
    broadcast(event);
    sets(event);
    merging();
    errors(event);
    full_table();
    ring();
    vectors();
    waits();
    memory();
    registrations();
    CHECK(hrt_event_unregister(event) == HRT_OK);
    puts("events work");
    return 0;
}
