// SPDX-License-Identifier: Apache-2.0 OR MIT
// Scenarios of the queues of tasks: every task is taken once, with what its submitter wrote, whoever takes it
// from where; and no task waits while a worker sleeps.
#include <string.h>

#include "../task_queue.h"
#include "model.h"

enum { TASKS = 4, CPUS = 2 };

static struct hrt_task_queue queue[CPUS];
static union {
    struct hrt_task_queues head;
    char room[sizeof(struct hrt_task_queues) + CPUS * sizeof(struct hrt_task_queue *)];
} all;
static struct hrt_task_queues *const queues = &all.head;
static int payload[TASKS];
static int taken[TASKS];
static int submitted;

static void setup(void) {
    memset(queue, 0, sizeof queue);
    memset(&all, 0, sizeof all);
    memset(payload, 0, sizeof payload);
    memset(taken, 0, sizeof taken);
    submitted = 0;
    queues->count = CPUS;
    for (int cpu = 0; cpu < CPUS; cpu++) {
        queues->of[cpu] = &queue[cpu];
    }
}

static uintptr_t item_of(int task, bool small) {
    MODEL_SET(payload[task], task);
    submitted++;
    return ((uintptr_t)task + 1) << 1 | (small ? HRT_ITEM_STAYS : 0);
}

static bool have(uintptr_t item) {
    if (!item) {
        return false;
    }
    int task = (int)(item >> 1) - 1;
    model_check(MODEL_GET(payload[task]) == task);
    model_check(taken[task]++ == 0);
    return true;
}

static void send(uint32_t cpu, uintptr_t item) {
    if (!hrt_task_queues_send(queues, cpu, item)) {
        have(item); // full: the submitter runs it
    }
}

static void submit(uint32_t cpu, int task, bool small) {
    uintptr_t item = item_of(task, small);
    if (!hrt_task_queue_push(queues->of[cpu], item)) {
        send(cpu, item);
    } else if (hrt_task_queues_must_wake(queues, queues->of[cpu], small)) {
        hrt_task_queues_wake(queues, cpu, small);
    }
}

static bool pop(uint32_t cpu) {
    uintptr_t item;
    return hrt_task_queue_pop(queues->of[cpu], &item) && have(item);
}

static bool take(uint32_t cpu) { return pop(cpu) || have(hrt_task_queues_search(queues, cpu)); }

static void drain(void) {
    for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
        while (take(cpu)) {
        }
    }
    int all_taken = 0;
    for (int task = 0; task < TASKS; task++) {
        all_taken += taken[task];
    }
    model_check(all_taken == submitted);
    for (int cpu = 0; cpu < CPUS; cpu++) {
        model_check(queue[cpu].movable == 0 && queue[cpu].sent[0] == 0 && queue[cpu].sent[1] == 0);
    }
}

// --- one deque: its owner, and thieves

static void setup_two(void) {
    setup();
    submit(0, 0, false);
    submit(0, 1, false);
}
static void owner(void) {
    pop(0);
    submit(0, 2, false);
    pop(0);
}
static void thief(void) { have(hrt_task_queue_steal(&queue[0], true)); }
static void last_owner(void) {
    submit(0, 0, false);
    pop(0);
    submit(0, 1, false);
    pop(0);
}

// --- two threads that take themselves for the CPU's only one

static void first_guest(void) {
    submit(0, 2, false);
    pop(0);
}
static void second_guest(void) {
    submit(0, 3, true);
    take(0);
}

// --- the inbox

static void first_sender(void) { send(1, item_of(0, false)); }
static void second_sender(void) { send(1, item_of(1, true)); }
static void third_sender(void) { send(1, item_of(2, false)); }
static void receiver(void) {
    take(1);
    take(1);
}

// --- workers

static void work(uint32_t cpu, int until) {
    for (int done = 0; done < until;) {
        if (take(cpu)) {
            done++;
        } else if (!hrt_task_queues_sleep(queues, cpu)) {
            HRT_PAUSE();
        }
    }
}
static void worker(void) { work(1, 1); }
static void worker_of_two(void) { work(1, 2); }
static void own_worker(void) { work(0, 1); }
static void submitter(void) { submit(0, 0, false); }
static void second_submitter(void) { submit(0, 1, false); }
static void small_submitter(void) { submit(0, 0, true); }
static void small_sender(void) { send(1, item_of(0, true)); }

#define TWICE "taken[task]++ == 0"
#define DEADLOCK "deadlock"

const struct model_scenario model_task_scenarios[] = {
    {.name = "task/deque",
     .setup = setup_two,
     .threads = {owner, thief, thief},
     .finish = drain,
     .preemptions = 2},
    {.name = "task/last-one",
     .setup = setup,
     .threads = {last_owner, thief},
     .finish = drain,
     .preemptions = 4},
    {.name = "task/two-owners",
     .setup = setup_two,
     .threads = {first_guest, second_guest, thief},
     .finish = drain,
     .preemptions = 2},
    {.name = "task/inbox",
     .setup = setup,
     .threads = {first_sender, second_sender, receiver},
     .finish = drain,
     .preemptions = 2},
    {.name = "task/inbox-full",
     .setup = setup,
     .threads = {first_sender, second_sender, third_sender, receiver},
     .finish = drain,
     .preemptions = 1},
    {.name = "task/worker",
     .setup = setup,
     .threads = {submitter, worker},
     .finish = drain,
     .preemptions = 3},
    {.name = "task/own-worker",
     .setup = setup,
     .threads = {small_submitter, own_worker},
     .finish = drain,
     .preemptions = 4},
    {.name = "task/sent-to-worker",
     .setup = setup,
     .threads = {small_sender, worker},
     .finish = drain,
     .preemptions = 4},
    {.name = "task/two-submitters",
     .setup = setup,
     .threads = {submitter, second_submitter, worker_of_two},
     .finish = drain,
     .preemptions = 2},
    {.name = "task/worker-and-signal",
     .setup = setup,
     .threads = {submitter, worker},
     .finish = drain,
     .preemptions = 3,
     .interrupts = 1},
    {.name = "fault/task-no-fence",
     .setup = setup_two,
     .threads = {owner, thief, thief},
     .preemptions = 3,
     .fault = MODEL_NO_FENCE,
     .expected = TWICE},
    {.name = "fault/task-relaxed",
     .setup = setup,
     .threads = {submitter, worker},
     .fault = MODEL_RELEASE_RELAXED,
     .expected = "data race"},
    {.name = "fault/task-worker-no-fence",
     .setup = setup,
     .threads = {small_submitter, own_worker},
     .fault = MODEL_NO_FENCE,
     .expected = DEADLOCK},
    {.name = NULL},
};
