// SPDX-License-Identifier: Apache-2.0 OR MIT
// Threads: ends and joins of every kind, thread-local data, attributes; bare threads.
#include "stress.h"

// --- create, join, detach, exit

#define INITIAL 0x1234567890abcdefu

static __thread uint64_t initialised = INITIAL;
static __thread unsigned char zeroed[200];

struct job {
    struct dice dice;
    struct hrt_thread_attr attr;
    bool owned; // freed by the thread: it is detached
};

static uint64_t detached_started, detached_ended;

static void check_locals(struct dice *dice) {
    CHECK_EQUAL(initialised, INITIAL);
    for (size_t i = 0; i < sizeof zeroed; i++) {
        CHECK_EQUAL(zeroed[i], 0);
    }
    initialised = roll(dice);
    memset(zeroed, 0xff, sizeof zeroed);
}

static void check_attributes(const struct hrt_thread_attr *attr) {
    struct hrt_thread_info info;
    CHECK_EQUAL(hrt_thread_info(hrt_thread_self(), &info), HRT_OK);
    CHECK_EQUAL(info.thread, hrt_thread_self());
    CHECK_EQUAL(info.priority, attr->priority);
    CHECK_EQUAL(info.bound_cpu, attr->cpu);
    CHECK(attr->cpu == HRT_CPU_ANY || hrt_cpu_self() == (uint32_t)attr->cpu);
    CHECK(attr->name == NULL || strcmp(info.name, attr->name) == 0);
}

static void *grandchild(void *arg) { return arg; }

static void *live(void *arg) {
    struct job *job = arg;
    struct dice dice = job->dice;
    check_locals(&dice);
    check_attributes(&job->attr);
    for (uint32_t turns = below(&dice, 4); turns > 0; turns--) {
        hrt_thread_yield();
        hrt_thread_yield_full();
    }
    if (one_in(&dice, 4)) {
        uint64_t deadline = soon(&dice);
        if (hrt_thread_sleep_until(deadline) == HRT_OK) {
            CHECK_LATE(deadline);
        }
    }
    for (uint32_t children = one_in(&dice, 4) ? below(&dice, 3) : 0; children > 0; children--) {
        hrt_thread_t child;
        CHECK_EQUAL(hrt_thread_create(&child, NULL, grandchild, &dice), HRT_OK);
    }
    CHECK_EQUAL(hrt_thread_join_all(), HRT_OK);
    if (job->owned) {
        free(job);
        __atomic_fetch_add(&detached_ended, 1, __ATOMIC_RELEASE);
    }
    if (one_in(&dice, 3)) {
        hrt_thread_exit(arg);
    }
    return arg;
}

static void draw_attributes(struct dice *dice, struct hrt_thread_attr *attr) {
    hrt_thread_attr_init(attr);
    if (one_in(dice, 2)) {
        attr->cpu = any_cpu(dice);
    } else if (one_in(dice, 2)) {
        attr->flags |= HRT_THREAD_STEALABLE;
    }
    if (one_in(dice, 3)) {
        attr->priority += (int32_t)below(dice, 6);
    }
    if (one_in(dice, 4)) {
        attr->policy = HRT_POLICY_RUN_TO_COMPLETION;
    }
    if (one_in(dice, 4)) {
        attr->stack_bytes = 65536u << below(dice, 4);
    }
    if (one_in(dice, 4)) {
        attr->name = "stressed";
    }
}

#define JOBS 6

static void start_detached(struct worker *worker) {
    struct job *job = malloc(sizeof *job);
    hrt_thread_t thread;
    CHECK(job != NULL);
    draw_attributes(&worker->dice, &job->attr);
    job->dice.state = roll(&worker->dice);
    job->owned = true;
    bool late = one_in(&worker->dice, 2);
    job->attr.flags |= late ? 0 : HRT_THREAD_DETACHED;
    __atomic_fetch_add(&detached_started, 1, __ATOMIC_RELAXED);
    CHECK_EQUAL(hrt_thread_create(&thread, &job->attr, live, job), HRT_OK);
    if (late) {
        CHECK_EQUAL(hrt_thread_detach(thread), HRT_OK);
    }
    int status = hrt_thread_join(thread, NULL);
    CHECK(status == HRT_EINVAL || status == HRT_ESRCH);
}

void threads_round(struct worker *worker) {
    struct dice *dice = &worker->dice;
    struct job jobs[JOBS];
    hrt_thread_t threads[JOBS];
    uint32_t count = 1 + below(dice, JOBS);
    for (uint32_t i = 0; i < count; i++) {
        draw_attributes(dice, &jobs[i].attr);
        jobs[i].dice.state = roll(dice);
        jobs[i].owned = false;
        CHECK_EQUAL(hrt_thread_create(&threads[i], &jobs[i].attr, live, &jobs[i]), HRT_OK);
    }
    CHECK_EQUAL(hrt_thread_join(hrt_thread_self(), NULL), HRT_EDEADLK);
    if (one_in(dice, 4)) {
        start_detached(worker);
    }
    STEP(worker);
    if (one_in(dice, 4)) {
        CHECK_EQUAL(hrt_thread_join_all(), HRT_OK);
    } else {
        for (uint32_t i = 0; i < count; i++) {
            void *result = NULL;
            int status;
            uint64_t deadline;
            do {
                deadline = soon_or_never(dice);
                status = hrt_thread_join_until(threads[i], &result, deadline);
                CHECK(status != HRT_ETIMEDOUT || hrt_now_ns() >= deadline);
            } while (status == HRT_ETIMEDOUT);
            CHECK_EQUAL(status, HRT_OK);
            CHECK_EQUAL((uintptr_t)result, (uintptr_t)&jobs[i]);
        }
    }
    CHECK_EQUAL(hrt_thread_join(threads[0], NULL), HRT_ESRCH);
    did(worker, count);
}

void threads_finish(void) {
    uint64_t limit_ns = hrt_now_ns() + 20000000000u;
    while (__atomic_load_n(&detached_ended, __ATOMIC_ACQUIRE) != detached_started) {
        CHECK(hrt_now_ns() < limit_ns);
        hrt_thread_sleep_until(hrt_now_ns() + 1000000);
    }
}

// --- bare threads: they may not use libc, so results say whether all was well

struct sums {
    uint64_t count;
    uint32_t never;
    uint64_t deadline;
};

static void *sums(void *arg) {
    const struct sums *job = arg;
    volatile uint64_t sum = 0;
    for (uint64_t i = 1; i <= job->count; i++) {
        sum += i;
        if (i % 64 == 0) {
            hrt_thread_yield();
        }
    }
    int status = hrt_wait(&job->never, 0, job->deadline, 0);
    if (status == HRT_ETIMEDOUT && hrt_now_ns() < job->deadline) {
        hrt_thread_exit(NULL);
    }
    return (void *)(uintptr_t)sum;
}

void bare_round(struct worker *worker) {
    struct dice *dice = &worker->dice;
    struct hrt_thread_attr attr;
    struct sums jobs[JOBS];
    hrt_thread_t threads[JOBS];
    uint32_t count = 1 + below(dice, JOBS);
    hrt_thread_attr_init(&attr);
    attr.flags = HRT_THREAD_BARE;
    attr.stack_bytes = HRT_STACK_MIN << below(dice, 3);
    for (uint32_t i = 0; i < count; i++) {
        jobs[i] = (struct sums){.count = 1 + below(dice, 500), .deadline = soon(dice)};
        attr.cpu = one_in(dice, 2) ? any_cpu(dice) : HRT_CPU_ANY;
        CHECK_EQUAL(hrt_thread_create(&threads[i], &attr, sums, &jobs[i]), HRT_OK);
    }
    STEP(worker);
    for (uint32_t i = 0; i < count; i++) {
        CHECK_EQUAL((uintptr_t)joined(threads[i]), jobs[i].count * (jobs[i].count + 1) / 2);
    }
    did(worker, count);
}
