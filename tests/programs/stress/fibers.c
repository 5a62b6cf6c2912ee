// SPDX-License-Identifier: Apache-2.0 OR MIT
// Fibers, which live in the worker's own thread, and tasks with their futures.
#include "stress.h"

#define FIBERS_MAX 40u

// --- fibers

struct strand {
    struct dice dice;
    uint32_t turns;
    uint64_t *passed; // by all strands of the thread: no two at once
};

static void *weave(void *arg) {
    struct strand *strand = arg;
    volatile uint64_t marked[8] = {strand->turns, ~(uint64_t)strand->turns};
    for (uint32_t turn = 0; turn < strand->turns; turn++) {
        uint64_t before = (*strand->passed)++;
        CHECK_EQUAL(*strand->passed, before + 1);
        if (one_in(&strand->dice, 50)) {
            hrt_thread_yield();
        }
        hrt_fiber_yield();
        CHECK(marked[0] == strand->turns && marked[1] == ~(uint64_t)strand->turns);
    }
    if (one_in(&strand->dice, 3)) {
        hrt_fiber_exit(arg);
    }
    return arg;
}

static __attribute__((noinline)) uintptr_t fork_fiber(uint32_t value) {
    volatile uint32_t marked = value;
    hrt_fiber_t *child;
    void *result = NULL;
    if (hrt_fiber_fork(&child) == HRT_FORK_CHILD) {
        marked = marked + 1;
        hrt_fiber_yield();
        return marked;
    }
    CHECK_EQUAL(marked, value);
    CHECK_EQUAL(hrt_fiber_join(child, &result), HRT_OK);
    CHECK_EQUAL((uint32_t)(uintptr_t)result, value + 1);
    return 0;
}

void fiber_round(struct worker *worker) {
    struct dice *dice = &worker->dice;
    struct strand strands[FIBERS_MAX];
    hrt_fiber_t *fibers[FIBERS_MAX];
    uint32_t count = 1 + below(dice, FIBERS_MAX);
    uint64_t passed = 0, expected = 0;
    for (uint32_t i = 0; i < count; i++) {
        strands[i] = (struct strand){{roll(dice)}, below(dice, 30), &passed};
        expected += strands[i].turns;
        size_t stack_bytes = one_in(dice, 4) ? HRT_FIBER_STACK_MIN * 2 : 0;
        CHECK_EQUAL(hrt_fiber_create(&fibers[i], weave, &strands[i], stack_bytes), HRT_OK);
        if (one_in(dice, 4)) {
            hrt_fiber_yield();
        }
    }
    int status = hrt_fiber_yield_to(fibers[below(dice, count)]);
    CHECK(status == HRT_OK || status == HRT_ESRCH);
    STEP(worker);
    if (one_in(dice, 4)) {
        CHECK_EQUAL(hrt_fiber_join_all(), HRT_OK);
    } else {
        for (uint32_t i = 0; i < count; i++) {
            void *result = NULL;
            CHECK_EQUAL(hrt_fiber_join(fibers[i], &result), HRT_OK);
            CHECK(result == &strands[i]);
        }
    }
    CHECK_EQUAL(passed, expected);
    CHECK_EQUAL(fork_fiber(below(dice, 1000)), 0);
    CHECK(!hrt_fiber_yield());
    did(worker, count + passed);
}

// --- tasks

struct sum {
    hrt_task_t task;
    uint64_t first, count;
    uint64_t seed;
    uint32_t runs;
};

// Splits into two tasks until there is little to do.
static void *add_up(void *arg) {
    struct sum *sum = arg;
    struct dice dice = {sum->seed};
    CHECK_EQUAL(__atomic_add_fetch(&sum->runs, 1, __ATOMIC_RELAXED), 1);
    if (sum->count <= 4) {
        uint64_t total = 0;
        for (uint64_t i = 0; i < sum->count; i++) {
            total += sum->first + i;
        }
        if (one_in(&dice, 50)) {
            hrt_thread_sleep_until(soon(&dice));
        }
        return (void *)(uintptr_t)total;
    }
    struct sum halves[2] = {
        {.first = sum->first, .count = sum->count / 2, .seed = roll(&dice)},
        {.first = sum->first + sum->count / 2, .count = sum->count - sum->count / 2, .seed = roll(&dice)}};
    uintptr_t total = 0;
    for (uint32_t half = 0; half < 2; half++) {
        int32_t cpu = one_in(&dice, 2) ? any_cpu(&dice) : HRT_CPU_ANY;
        uint32_t hint = one_in(&dice, 2) ? HRT_TASK_SIZE_UNKNOWN : 1 + below(&dice, 100000);
        CHECK_EQUAL(hrt_task_submit(&halves[half].task, add_up, &halves[half], cpu, hint), HRT_OK);
    }
    for (uint32_t half = 0; half < 2; half++) {
        void *result = NULL;
        CHECK_EQUAL(hrt_task_wait(&halves[half].task, &result), HRT_OK);
        CHECK(hrt_task_done(&halves[half].task));
        total += (uintptr_t)result;
    }
    return (void *)total;
}

#define SUMS 4u

void task_round(struct worker *worker) {
    struct dice *dice = &worker->dice;
    struct sum sums[SUMS];
    uint32_t count = 1 + below(dice, SUMS);
    for (uint32_t i = 0; i < count; i++) {
        sums[i] = (struct sum){.first = below(dice, 1000), .count = 1 + below(dice, 60), .seed = roll(dice)};
        CHECK_EQUAL(hrt_task_submit(&sums[i].task, add_up, &sums[i], any_cpu(dice), HRT_TASK_SIZE_UNKNOWN),
                    HRT_OK);
        if (one_in(dice, 4)) {
            hrt_task_run_one();
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        void *result = NULL;
        STEP(worker);
        // By looking or by waiting.
        uint32_t tries = 0;
        while (i % 2 == 1 && !hrt_task_done(&sums[i].task) && tries < 60) {
            hrt_task_run_one() ? (void)0 : idle_a_bit(&tries);
        }
        CHECK_EQUAL(hrt_task_wait(&sums[i].task, &result), HRT_OK);
        uint64_t n = sums[i].count;
        CHECK_EQUAL((uintptr_t)result, n * sums[i].first + n * (n - 1) / 2);
        CHECK_EQUAL(sums[i].runs, 1);
    }
    did(worker, count);
}
