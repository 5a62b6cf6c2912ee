// SPDX-License-Identifier: Apache-2.0 OR MIT
// Tasks.
#include "parts.h"

#define MANY 6000
#define SMALL_NS 100u

static void *fibonacci(void *arg) {
    long n = (long)arg;
    if (n < 2) {
        return arg;
    }
    // Not initialised, as a caller's may be.
    hrt_task_t left;
    void *result = NULL;
    CHECK_EQUAL(hrt_task_submit(&left, fibonacci, number(n - 1), HRT_CPU_ANY, HRT_TASK_SIZE_UNKNOWN), HRT_OK);
    long right = (long)fibonacci(number(n - 2));
    CHECK_EQUAL(hrt_task_wait(&left, &result), HRT_OK);
    return number((long)result + right);
}

static void *adds(void *arg) {
    __atomic_fetch_add((long *)arg, 1, __ATOMIC_RELAXED);
    return arg;
}

// What a caller's memory holds does not look like a queued task, at whatever address it is.
static void what_was_there(void) {
    enum { ADDRESSES = 100000 };
    static const uint32_t LEFT[] = {1, 5, 0x10001, 0xffff0001};
    hrt_task_t *each = malloc(ADDRESSES * sizeof *each);
    CHECK(each != NULL);
    long sum = 0;
    for (size_t left = 0; left < sizeof LEFT / sizeof *LEFT; left++) {
        uint32_t *words = (uint32_t *)each;
        for (size_t i = 0; i < ADDRESSES * sizeof *each / sizeof *words; i++) {
            words[i] = LEFT[left];
        }
        for (int i = 0; i < ADDRESSES; i++) {
            CHECK_EQUAL(hrt_task_wait(&each[i], NULL), HRT_EINVAL);
            CHECK_EQUAL(hrt_task_submit(&each[i], adds, &sum, HRT_CPU_ANY, SMALL_NS), HRT_OK);
            CHECK_EQUAL(hrt_task_wait(&each[i], NULL), HRT_OK);
        }
    }
    CHECK_EQUAL(sum, 4 * ADDRESSES);
    free(each);
}

// Tasks that stay on CPU 1 and on CPU 0 in turns, each waiting for the next: both workers wait while there is
// one for them.
struct step {
    hrt_task_t task;
    uint32_t left;
};

static void *waits_for_next(void *arg) {
    struct step *step = arg;
    if (step->left == 0) {
        return arg;
    }
    // So that the worker of the other CPU is asleep in its own wait by now.
    hrt_thread_sleep_until(hrt_now_ns() + 5000000);
    struct step next = {.left = step->left - 1};
    CHECK_EQUAL(hrt_task_submit(&next.task, waits_for_next, &next, (int32_t)(next.left % 2), SMALL_NS),
                HRT_OK);
    CHECK_EQUAL(hrt_task_wait(&next.task, NULL), HRT_OK);
    return arg;
}

static void workers_that_wait(void) {
    if (hrt_cpu_count() < 2) {
        return;
    }
    struct step first = {.left = 7};
    CHECK_EQUAL(hrt_task_submit(&first.task, waits_for_next, &first, 1, SMALL_NS), HRT_OK);
    // Not by hrt_task_wait(), which would run some of them.
    while (!hrt_task_done(&first.task)) {
        hrt_thread_sleep_until(hrt_now_ns() + 1000000);
    }
}

void tasks(void) {
    static hrt_task_t many[MANY];
    void *result;
    long sum = 0;
    CHECK_EQUAL((long)fibonacci(number(15)), 610);
    // More than a queue holds: the rest runs at once.
    for (int i = 0; i < MANY; i++) {
        int32_t cpu = i % 3 ? HRT_CPU_ANY : (int32_t)((uint32_t)i % hrt_cpu_count());
        CHECK_EQUAL(hrt_task_submit(&many[i], adds, &sum, cpu, (uint32_t)i % 2), HRT_OK);
    }
    for (int i = 0; i < MANY; i++) {
        CHECK_EQUAL(hrt_task_wait(&many[i], &result), HRT_OK);
        CHECK(result == &sum);
    }
    CHECK_EQUAL(sum, MANY);
    // A task that nobody waits for is run by a worker.
    CHECK_EQUAL(hrt_task_submit(&many[0], adds, &sum, HRT_CPU_ANY, 0), HRT_OK);
    while (!hrt_task_done(&many[0])) {
        hrt_thread_sleep_until(hrt_now_ns() + 100000);
    }
    CHECK_EQUAL(sum, MANY + 1);
    CHECK_EQUAL(hrt_task_submit(&many[1], adds, &sum, HRT_CPU_ANY, 1), HRT_OK);
    while (!hrt_task_done(&many[1]) && !hrt_task_run_one()) {
        hrt_thread_yield();
    }
    CHECK_EQUAL(hrt_task_wait(&many[1], NULL), HRT_OK);
    struct hrt_task_counters counters;
    hrt_task_counters(&counters);
    CHECK(counters.submitted >= MANY + 2);
    CHECK_EQUAL(counters.submitted, counters.run_locally + counters.stolen + counters.run_inline);
    what_was_there();
    workers_that_wait();
}

// Which tasks ran, one after the other, and in which thread.
static struct {
    long number;
    hrt_thread_t thread;
} ran[8];
static long next_to_run;

static void *notes_order(void *arg) {
    CHECK_EQUAL(hrt_cpu_self(), 0);
    long place = __atomic_fetch_add(&next_to_run, 1, __ATOMIC_RELAXED);
    ran[place].number = (long)arg;
    ran[place].thread = hrt_thread_self();
    return arg;
}

// Submits eight small tasks. Whether it has run all, the newest first: where a slice ends, the worker may run
// some, and while it has lost the CPU in the middle of the queue, tasks go by the inbox, in the order of
// that.
static bool runs_all(void) {
    bool in_order = true;
    hrt_task_t small[8];
    long newest = 8, own = 0, sum = 0;
    next_to_run = 0;
    for (long i = 0; i < 8; i++) {
        CHECK_EQUAL(hrt_task_submit(&small[i], notes_order, number(i), HRT_CPU_ANY, SMALL_NS), HRT_OK);
    }
    for (long i = 0; i < 8; i++) {
        CHECK_EQUAL(hrt_task_wait(&small[i], NULL), HRT_OK);
    }
    CHECK_EQUAL(next_to_run, 8);
    for (long i = 0; i < 8; i++) {
        sum += ran[i].number;
        if (ran[i].thread == hrt_thread_self()) {
            in_order &= ran[i].number < newest;
            newest = ran[i].number;
            own++;
        }
    }
    CHECK_EQUAL(sum, 28);
    return own == 8 && in_order;
}

// Small tasks stay on their CPU, which runs the newest first, but for what the end of a slice brings about.
static void small_tasks(void) {
    CHECK_EQUAL(hrt_thread_bind(hrt_thread_self(), 0), HRT_OK);
    if (has(OWN_CPUS)) {
        int tries = 1;
        while (!runs_all()) {
            CHECK(tries++ < 20);
            // A worker that is in the middle of the queue gets out of it.
            hrt_thread_sleep_until(hrt_now_ns() + 1000000);
        }
    }
    CHECK_EQUAL(hrt_thread_bind(hrt_thread_self(), HRT_CPU_ANY), HRT_OK);
}

// Every thread submits, to all CPUs, in all sizes, and leaves some to the workers.
static void *submits(void *arg) {
    enum { COUNT = 3000 };
    hrt_task_t *each = calloc(COUNT, sizeof *each);
    CHECK(each != NULL);
    uint32_t cpus = hrt_cpu_count();
    for (uint32_t i = 0; i < COUNT; i++) {
        int32_t cpu = i % 4 == 0 ? (int32_t)(i / 4 % cpus) : HRT_CPU_ANY;
        CHECK_EQUAL(hrt_task_submit(&each[i], adds, arg, cpu, i % 3 ? 0 : SMALL_NS), HRT_OK);
        if (i % 500 == 0) {
            hrt_thread_sleep_until(hrt_now_ns() + 100000);
        }
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        CHECK_EQUAL(hrt_task_wait(&each[i], NULL), HRT_OK);
    }
    free(each);
    return number(COUNT);
}

void many_submitters(void) {
    hrt_thread_t threads[8];
    long sum = 0, expected = 0;
    small_tasks();
    for (int i = 0; i < 8; i++) {
        CHECK_EQUAL(hrt_thread_create(&threads[i], NULL, submits, &sum), HRT_OK);
    }
    for (int i = 0; i < 8; i++) {
        expected += joined(threads[i]);
    }
    CHECK_EQUAL(sum, expected);
    struct hrt_task_counters counters;
    hrt_task_counters(&counters);
    CHECK_EQUAL(counters.submitted, counters.run_locally + counters.stolen + counters.run_inline);
}

static hrt_task_t own;

static void *waits_for_itself(void *arg) {
    (void)arg;
    return number(hrt_task_wait(&own, NULL));
}

static uint32_t gate;

static void *waits_for_gate(void *arg) {
    while (!__atomic_load_n(&gate, __ATOMIC_ACQUIRE)) {
        hrt_wait(&gate, 0, HRT_FOREVER, 0);
    }
    return arg;
}

static void *waits_for_task(void *arg) {
    void *result = NULL;
    CHECK_EQUAL(hrt_task_wait(arg, &result), HRT_OK);
    return result;
}

void task_misuse(void) {
    hrt_task_t task = {0};
    void *result;
    CHECK(!hrt_task_done(&task));
    CHECK_EQUAL(hrt_task_wait(&task, NULL), HRT_EINVAL);
    memset(&task, 0xff, sizeof task);
    CHECK_EQUAL(hrt_task_wait(&task, NULL), HRT_EINVAL);
    CHECK_EQUAL(hrt_task_submit(&task, adds, NULL, (int32_t)hrt_cpu_count(), 0), HRT_EINVAL);
    CHECK_EQUAL(hrt_task_submit(&task, adds, NULL, -2, 0), HRT_EINVAL);
    CHECK_EQUAL(hrt_task_submit(&task, NULL, NULL, HRT_CPU_ANY, 0), HRT_EINVAL);

    CHECK_EQUAL(hrt_task_submit(&own, waits_for_itself, NULL, HRT_CPU_ANY, 0), HRT_OK);
    CHECK_EQUAL(hrt_task_wait(&own, &result), HRT_OK);
    CHECK_EQUAL((long)result, HRT_EDEADLK);

    CHECK_EQUAL(hrt_task_submit(&task, waits_for_gate, number(5), HRT_CPU_ANY, 0), HRT_OK);
    CHECK_EQUAL(hrt_task_submit(&task, waits_for_gate, NULL, HRT_CPU_ANY, 0), HRT_EBUSY);
    // Several threads wait for one task.
    hrt_thread_t threads[4];
    for (int i = 0; i < 4; i++) {
        CHECK_EQUAL(hrt_thread_create(&threads[i], NULL, waits_for_task, &task), HRT_OK);
    }
    hrt_thread_sleep_until(hrt_now_ns() + 2000000);
    CHECK(!hrt_task_done(&task));
    __atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
    hrt_wake(&gate, 1000, HRT_WAKE_KICK);
    CHECK_EQUAL(hrt_task_wait(&task, &result), HRT_OK);
    CHECK_EQUAL((long)result, 5);
    for (int i = 0; i < 4; i++) {
        CHECK_EQUAL(joined(threads[i]), 5);
    }
    CHECK_EQUAL(hrt_task_wait(&task, NULL), HRT_OK);
    CHECK(hrt_task_done(&task));
}
