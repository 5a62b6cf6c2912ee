// SPDX-License-Identifier: Apache-2.0 OR MIT
// Tasks: the queues are in task_queue.c; here is what fills them, what runs the tasks, and how one waits for
// them.
//
//   anything --submit--> QUEUED --run--> DONE
//
// A waiter runs what is queued; when nothing is, it adds WAITED to the state and sleeps on it. Whoever runs
// the task looks for that when it is done.
#include <limits.h>

#include "internal.h"
#include "task_queue.h"

// The rest of the state word marks a task that was submitted, by its address: the caller's memory may hold
// anything before, also what is left of another task's state. Of what it holds small numbers are the most
// frequent, so no mark makes one: the highest bit is always set.
#define MARKED 0x80000000u
#define MARK 0x7ffffff8u
#define QUEUED 1u
#define DONE 2u
#define WAITED 4u

static uint32_t mark_of(const hrt_task_t *task) {
    return MARKED | (((uint32_t)((uintptr_t)task >> 3) * 0x9e3779b1u) & MARK);
}

// A task that is expected to take less time than this is not worth a move: what a steal costs, with the cache
// misses of its first instructions.
#define WORTH_A_MOVE_NS 2000u

// --- queues and workers: one of each for each CPU, from the first task on

static struct hrt_task_queues *all_queues;
// The same where programs see the CPU's number, so that nothing need be called; NULL elsewhere.
static struct hrt_task_queues *quick_queues;
// Tasks that ran at once because there was no room for them.
static uint64_t run_inline;

static struct hrt_task_queues *queues_now(void) { return __atomic_load_n(&all_queues, __ATOMIC_ACQUIRE); }

void hrt_task_counters(struct hrt_task_counters *sum) {
    const struct hrt_task_queues *queues = queues_now();
    *sum = (struct hrt_task_counters){.run_inline = __atomic_load_n(&run_inline, __ATOMIC_RELAXED)};
    sum->submitted = sum->run_inline;
    for (uint32_t cpu = 0; queues && cpu < queues->count; cpu++) {
        const struct hrt_task_queue *one = queues->of[cpu];
        sum->submitted += __atomic_load_n(&one->pushed, __ATOMIC_RELAXED) +
                          __atomic_load_n(&one->received, __ATOMIC_RELAXED);
        sum->run_locally +=
            __atomic_load_n(&one->popped, __ATOMIC_RELAXED) + __atomic_load_n(&one->taken, __ATOMIC_RELAXED);
        sum->stolen += __atomic_load_n(&one->stolen, __ATOMIC_RELAXED);
    }
}

// What a running task has in the place of its function: the thread that runs it, which cannot wait for it.
static inline hrt_thread_fn runner(void) { return (hrt_thread_fn)(uintptr_t)&hrt_local; }

static inline void run(hrt_task_t *task) {
    hrt_thread_fn fn = task->fn;
    __atomic_store_n(&task->fn, runner(), __ATOMIC_RELAXED);
    task->result = fn(task->arg);
    // From here on the memory may be something else: only its address counts.
    uint32_t *state = &task->state;
    if (HRT_UNLIKELY(__atomic_fetch_add(state, DONE - QUEUED, __ATOMIC_ACQ_REL) & WAITED)) {
        hrt_calls->wake(state, INT_MAX, HRT_WAKE_KICK);
    }
}

static inline void run_item(uintptr_t item) { run((hrt_task_t *)(item & ~HRT_ITEM_STAYS)); }

// In every way there is; false if there is nothing.
__attribute__((noinline)) static bool run_any(void) {
    struct hrt_task_queues *queues = queues_now();
    if (!queues) {
        return false;
    }
    uint32_t cpu = hrt_cpu_self();
    uintptr_t item;
    if (!hrt_task_queue_pop(queues->of[cpu], &item)) {
        item = hrt_task_queues_search(queues, cpu);
    }
    if (item) {
        run_item(item);
    }
    return item != 0;
}

static inline bool run_next(void) {
    struct hrt_task_queues *queues = __atomic_load_n(&quick_queues, __ATOMIC_ACQUIRE);
    uintptr_t item;
    if (HRT_UNLIKELY(!queues)) {
        return run_any();
    }
    if (HRT_UNLIKELY(!hrt_task_queue_pop(queues->of[hrt_cpu_at_gs(queues->cpu_at_gs)], &item))) {
        return run_any();
    }
    run_item(item);
    return true;
}

bool hrt_task_run_one(void) { return run_next(); }

static void *work(void *cpu) {
    hrt_local.works = true;
    for (;;) {
        if (!run_next() && !hrt_task_queues_sleep(queues_now(), (uint32_t)(uintptr_t)cpu)) {
            hrt_thread_yield();
        }
    }
    return NULL;
}

static struct hrt_task_queues *make_queues(void) {
    uint32_t count = hrt_cpu_count();
    struct hrt_task_queues *queues =
        hrt_alloc(sizeof *queues + count * sizeof queues->of[0], HRT_ZONE_ANY, HRT_ALLOC_ZERO);
    if (!queues) {
        return NULL;
    }
    for (queues->count = 0; queues->count < count; queues->count++) {
        struct hrt_cpu_info info;
        bool known = hrt_cpu_info(queues->count, &info) == HRT_OK;
        struct hrt_task_queue *queue =
            hrt_alloc_aligned(sizeof *queue, _Alignof(struct hrt_task_queue),
                              known ? (int32_t)info.zone : HRT_ZONE_ANY, HRT_ALLOC_ZERO);
        if (!queue) {
            break;
        }
        queues->of[queues->count] = queue;
    }
    if (queues->count == count) {
        return queues;
    }
    while (queues->count > 0) {
        hrt_free(queues->of[--queues->count]);
    }
    hrt_free(queues);
    return NULL;
}

// Makes queues and workers, if no other thread is doing so.
static void start(void) {
    static uint32_t started;
    if (__atomic_exchange_n(&started, 1, __ATOMIC_RELAXED)) {
        return;
    }
    struct hrt_task_queues *queues = make_queues();
    if (!queues) {
        __atomic_store_n(&started, 0, __ATOMIC_RELAXED);
        return;
    }
    queues->cpu_at_gs = hrt_calls->cpu_at_gs;
    __atomic_store_n(&all_queues, queues, __ATOMIC_RELEASE);
    if (queues->cpu_at_gs) {
        __atomic_store_n(&quick_queues, queues, __ATOMIC_RELEASE);
    }
    struct hrt_thread_attr attr;
    hrt_thread_attr_init(&attr);
    attr.flags = HRT_THREAD_DETACHED;
    attr.priority = 0;
    attr.name = "task worker";
    for (uint32_t cpu = 0; cpu < queues->count; cpu++) {
        attr.cpu = (int32_t)cpu;
        // A CPU that gets none (no memory) is served by the others and by those who wait.
        hrt_thread_create(NULL, &attr, work, (void *)(uintptr_t)cpu);
    }
}

// --- submitting and waiting

static inline bool stays(uint32_t size_hint) {
    return size_hint != HRT_TASK_SIZE_UNKNOWN && size_hint < WORTH_A_MOVE_NS;
}

static inline void fill(hrt_task_t *task, hrt_thread_fn fn, void *arg, uint32_t size_hint) {
    task->fn = fn;
    task->arg = arg;
    task->size_hint = size_hint;
    __atomic_store_n(&task->state, mark_of(task) | QUEUED, __ATOMIC_RELEASE);
}

// By the inbox of a CPU; when that is full, the task runs at once.
__attribute__((noinline)) static int send(struct hrt_task_queues *queues, uint32_t cpu, uintptr_t item) {
    if (!queues || !hrt_task_queues_send(queues, cpu, item)) {
        __atomic_fetch_add(&run_inline, 1, __ATOMIC_RELAXED);
        run_item(item);
    }
    return HRT_OK;
}

__attribute__((noinline, cold)) static int wake(struct hrt_task_queues *queues, uint32_t cpu, bool small) {
    hrt_task_queues_wake(queues, cpu, small);
    return HRT_OK;
}

// To the queue of the CPU that the caller is on, if that has not changed meanwhile.
static inline __attribute__((always_inline)) int push(struct hrt_task_queues *queues, uint64_t cpu,
                                                      hrt_task_t *task, bool small) {
    uintptr_t item = (uintptr_t)task + (small ? HRT_ITEM_STAYS : 0);
    struct hrt_task_queue *queue = queues->of[cpu];
    if (HRT_UNLIKELY(!hrt_task_queue_push(queue, item))) {
        return send(queues, (uint32_t)cpu, item);
    }
    if (HRT_UNLIKELY(hrt_task_queues_must_wake(queues, queue, small))) {
        return wake(queues, (uint32_t)cpu, small);
    }
    return HRT_OK;
}

// With all checks, for any CPU, and for the first task.
__attribute__((noinline)) static int submit_any(hrt_task_t *task, hrt_thread_fn fn, void *arg, int32_t cpu,
                                                uint32_t size_hint) {
    if (!fn || (cpu != HRT_CPU_ANY && (cpu < 0 || (uint32_t)cpu >= hrt_cpu_count()))) {
        return HRT_EINVAL;
    }
    if (!queues_now()) {
        start();
    }
    fill(task, fn, arg, size_hint);
    struct hrt_task_queues *queues = queues_now();
    uint32_t here = hrt_cpu_self();
    if (queues && (cpu == HRT_CPU_ANY || (uint32_t)cpu == here)) {
        return push(queues, here, task, stays(size_hint));
    }
    return send(queues, (uint32_t)cpu, (uintptr_t)task + (stays(size_hint) ? HRT_ITEM_STAYS : 0));
}

// The usual way makes no call and keeps nothing on the stack; submit_any() is for everything else.
int hrt_task_submit(hrt_task_t *task, hrt_thread_fn fn, void *arg, int32_t cpu, uint32_t size_hint) {
    uint32_t state = __atomic_load_n(&task->state, __ATOMIC_RELAXED);
    if (HRT_UNLIKELY((state & ~WAITED) == (mark_of(task) | QUEUED))) {
        return HRT_EBUSY;
    }
    struct hrt_task_queues *queues = __atomic_load_n(&quick_queues, __ATOMIC_ACQUIRE);
    if (HRT_UNLIKELY(!queues)) {
        return submit_any(task, fn, arg, cpu, size_hint);
    }
    uint64_t here = hrt_cpu_at_gs(queues->cpu_at_gs);
    if (HRT_UNLIKELY(cpu != HRT_CPU_ANY) || HRT_UNLIKELY(!fn)) {
        return submit_any(task, fn, arg, cpu, size_hint);
    }
    fill(task, fn, arg, size_hint);
    return stays(size_hint) ? push(queues, here, task, true) : push(queues, here, task, false);
}

// A worker that waits within a task is the only one that would take what comes to its CPU and stays there,
// and with all of them so nobody would take anything: while nothing wakes it for that, it looks by itself so
// often.
#define LOOK_AGAIN_NS 1000000u

// There is nothing to run: sleeps until the task is done, or for no reason.
__attribute__((noinline)) static int sleep_on(hrt_task_t *task) {
    uint32_t queued = mark_of(task) | QUEUED;
    uint32_t state = __atomic_load_n(&task->state, __ATOMIC_ACQUIRE);
    if ((state & ~WAITED) != queued) {
        return HRT_OK;
    }
    if (__atomic_load_n(&task->fn, __ATOMIC_RELAXED) == runner()) {
        return HRT_EDEADLK;
    }
    if ((state & WAITED) || __atomic_compare_exchange_n(&task->state, &state, queued | WAITED, false,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        uint64_t until_ns = hrt_local.works ? hrt_now_ns() + LOOK_AGAIN_NS : HRT_FOREVER;
        hrt_calls->wait(&task->state, queued | WAITED, until_ns, 0);
    }
    return HRT_OK;
}

int hrt_task_wait(hrt_task_t *task, void **result) {
    uint32_t mark = mark_of(task);
    for (;;) {
        uint32_t phase = (__atomic_load_n(&task->state, __ATOMIC_ACQUIRE) & ~WAITED) - mark;
        if (phase == DONE) {
            break;
        }
        if (HRT_UNLIKELY(phase != QUEUED)) {
            return HRT_EINVAL;
        }
        if (HRT_UNLIKELY(!run_next())) {
            int status = sleep_on(task);
            if (HRT_UNLIKELY(status != HRT_OK)) {
                return status;
            }
        }
    }
    if (result) {
        *result = task->result;
    }
    return HRT_OK;
}

bool hrt_task_done(const hrt_task_t *task) {
    return (__atomic_load_n(&task->state, __ATOMIC_ACQUIRE) & ~WAITED) == (mark_of(task) | DONE);
}
