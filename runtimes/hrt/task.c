// SPDX-License-Identifier: Apache-2.0 OR MIT
// Tasks: the queues are the place's (task_push, task_pop); here is what runs them and how one waits for them.
//
//   anything --submit--> QUEUED --taken from a queue--> RUNNING --> DONE
//
// A waiter runs what is queued; when nothing is, it adds WAITED to the state and sleeps on it. Whoever runs
// the task looks for that when it is done.
#include <limits.h>

#include "internal.h"

// The upper half of the state word marks a task that was submitted, by its address: the caller's memory may
// hold anything before, also what is left of another task's state. Then there is the CPU it was submitted to,
// WAITED, and the phase.
#define MARK 0xffff0000u
#define QUEUED 1u
#define RUNNING 2u
#define DONE 3u
#define PHASE 3u
#define WAITED 4u
#define CPU_SHIFT 3
#define CPU_MASK 0x1fffu

static uint32_t mark_of(const hrt_task_t *task) {
    return ((uint32_t)((uintptr_t)task >> 3) * 0x9e3779b1u) & MARK;
}

// The tasks that a thread is running, the innermost first: it cannot wait for one of them.
struct hrt_running {
    const hrt_task_t *task;
    struct hrt_running *outer;
};

// --- counters: a cache line for each CPU

#define COUNTED_CPUS 256u

static struct { _Alignas(64) struct hrt_task_counters at; } counted[COUNTED_CPUS];

static void count(uint64_t *counter) { __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }

static struct hrt_task_counters *counters_of(uint32_t cpu) { return &counted[cpu % COUNTED_CPUS].at; }

void hrt_task_counters(struct hrt_task_counters *sum) {
    *sum = (struct hrt_task_counters){0};
    for (uint32_t cpu = 0; cpu < COUNTED_CPUS; cpu++) {
        const struct hrt_task_counters *one = counters_of(cpu);
        sum->submitted += __atomic_load_n(&one->submitted, __ATOMIC_RELAXED);
        sum->run_locally += __atomic_load_n(&one->run_locally, __ATOMIC_RELAXED);
        sum->stolen += __atomic_load_n(&one->stolen, __ATOMIC_RELAXED);
        sum->run_inline += __atomic_load_n(&one->run_inline, __ATOMIC_RELAXED);
    }
}

// --- running

static void run(hrt_task_t *task) {
    struct hrt_running running = {.task = task, .outer = hrt_local.running};
    hrt_local.running = &running;
    // From QUEUED to RUNNING; a waiter may be adding its mark.
    __atomic_fetch_add(&task->state, RUNNING - QUEUED, __ATOMIC_ACQUIRE);
    task->result = task->fn(task->arg);
    hrt_local.running = running.outer;
    // From here on the memory may be something else: only its address counts.
    uint32_t *state = &task->state;
    if (__atomic_exchange_n(state, mark_of(task) | DONE, __ATOMIC_ACQ_REL) & WAITED) {
        hrt_calls->wake(state, INT_MAX, HRT_WAKE_KICK);
    }
}

static bool run_next(void) {
    hrt_task_t *task = hrt_calls->task_pop();
    if (!task) {
        return false;
    }
    // Where the thread was when it submitted a task or began to work: good enough for a counter.
    uint32_t here = hrt_local.task_cpu;
    uint32_t home = __atomic_load_n(&task->state, __ATOMIC_RELAXED) >> CPU_SHIFT & CPU_MASK;
    struct hrt_task_counters *counters = counters_of(here);
    count(here == home ? &counters->run_locally : &counters->stolen);
    run(task);
    return true;
}

bool hrt_task_run_one(void) { return run_next(); }

// --- workers: one for each CPU, from the first task on

static uint32_t workers_started;

static void *work(void *unused) {
    (void)unused;
    hrt_local.task_cpu = hrt_cpu_self();
    for (;;) {
        if (!run_next()) {
            hrt_calls->task_idle(HRT_FOREVER);
        }
    }
    return NULL;
}

static void start_workers(void) {
    if (__atomic_exchange_n(&workers_started, 1, __ATOMIC_RELAXED)) {
        return;
    }
    struct hrt_thread_attr attr;
    hrt_thread_attr_init(&attr);
    attr.flags = HRT_THREAD_DETACHED;
    attr.priority = 0;
    attr.name = "task worker";
    for (uint32_t cpu = 0; cpu < hrt_cpu_count(); cpu++) {
        attr.cpu = (int32_t)cpu;
        // A CPU that gets none (no memory) is served by the others and by those who wait.
        hrt_thread_create(NULL, &attr, work, NULL);
    }
}

// --- submitting and waiting

// The phase of a task that was submitted; 0 of any other memory.
static uint32_t phase_of(const hrt_task_t *task, uint32_t state) {
    return (state & MARK) == mark_of(task) ? state & PHASE : 0;
}

int hrt_task_submit(hrt_task_t *task, hrt_thread_fn fn, void *arg, int32_t cpu, uint32_t size_hint) {
    uint32_t state = __atomic_load_n(&task->state, __ATOMIC_RELAXED);
    uint32_t phase = phase_of(task, state);
    if (HRT_UNLIKELY(phase == QUEUED || phase == RUNNING)) {
        return HRT_EBUSY;
    }
    uint32_t here = hrt_local.task_cpu = hrt_cpu_self();
    if (HRT_UNLIKELY(!fn || (cpu != HRT_CPU_ANY && (cpu < 0 || (uint32_t)cpu >= hrt_cpu_count())))) {
        return HRT_EINVAL;
    }
    if (cpu == HRT_CPU_ANY) {
        cpu = (int32_t)here;
    }
    if (HRT_UNLIKELY(!__atomic_load_n(&workers_started, __ATOMIC_RELAXED))) {
        start_workers();
    }
    task->fn = fn;
    task->arg = arg;
    task->size_hint = size_hint;
    __atomic_store_n(&task->state, mark_of(task) | (uint32_t)cpu << CPU_SHIFT | QUEUED, __ATOMIC_RELEASE);
    count(&counters_of(here)->submitted);
    int status = hrt_calls->task_push(task, cpu, size_hint);
    if (HRT_UNLIKELY(status != HRT_OK)) {
        // Full, or no memory for the queue.
        count(&counters_of(here)->run_inline);
        run(task);
    }
    return HRT_OK;
}

// Whether the caller is running the task itself, perhaps below others.
static bool is_own(const hrt_task_t *task) {
    const struct hrt_running *running = hrt_local.running;
    while (running && running->task != task) {
        running = running->outer;
    }
    return running != NULL;
}

// Sleeps until the task is done, or for no reason.
static void sleep_on(hrt_task_t *task, uint32_t state) {
    if (!(state & WAITED) && !__atomic_compare_exchange_n(&task->state, &state, state | WAITED, false,
                                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        return;
    }
    hrt_calls->wait(&task->state, state | WAITED, HRT_FOREVER, 0);
}

int hrt_task_wait(hrt_task_t *task, void **result) {
    for (;;) {
        uint32_t state = __atomic_load_n(&task->state, __ATOMIC_ACQUIRE);
        uint32_t phase = phase_of(task, state);
        if (phase == DONE) {
            break;
        }
        if (HRT_UNLIKELY(phase == 0)) {
            return HRT_EINVAL;
        }
        if (!run_next()) {
            if (is_own(task)) {
                return HRT_EDEADLK;
            }
            sleep_on(task, state);
        }
    }
    if (result) {
        *result = task->result;
    }
    return HRT_OK;
}

bool hrt_task_done(const hrt_task_t *task) {
    return phase_of(task, __atomic_load_n(&task->state, __ATOMIC_ACQUIRE)) == DONE;
}
