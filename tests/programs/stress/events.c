// SPDX-License-Identifier: Apache-2.0 OR MIT
// Events and interrupts: what was posted before a notification is handled after it, on every CPU meant;
// nothing is handled after an unregistration; waits for events and for memory.
#include "stress.h"

// What is on its way to a CPU: the number of the last thing posted, and of the last that a handler has seen.
struct mail {
    _Alignas(128) uint64_t posted;
    uint64_t handled;
};

struct box {
    uint32_t name; // of the event or vector
    bool guarded;  // its action takes a spin lock
    struct mail mail[CPUS_MAX];
};

static HRT_HANDLER void handle(void *arg) {
    struct box *box = arg;
    struct mail *mail = &box->mail[hrt_cpu_self()];
    __atomic_store_n(&mail->handled, __atomic_load_n(&mail->posted, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
    if (box->guarded) {
        pass_in_handler();
    }
}

// A handler must find its memory present.
static void touch(struct box *box) {
    for (uint32_t cpu = 0; cpu < hrt_cpu_count(); cpu++) {
        box->mail[cpu] = (struct mail){0};
    }
}

static uint64_t post(struct box *box, uint32_t cpu) {
    return __atomic_add_fetch(&box->mail[cpu].posted, 1, __ATOMIC_ACQ_REL);
}

static void await(struct box *box, uint32_t cpu, uint64_t number) {
    uint32_t tries = 0;
    while (__atomic_load_n(&box->mail[cpu].handled, __ATOMIC_ACQUIRE) < number) {
        idle_a_bit(&tries);
    }
}

// --- active messages

#define BOXES 3u

static struct box boxes[BOXES];

void event_prepare(void) {
    for (uint32_t i = 0; i < BOXES; i++) {
        touch(&boxes[i]);
        boxes[i].guarded = i == 0;
        CHECK_EQUAL(hrt_event_register(handle, &boxes[i], 0, &boxes[i].name), HRT_OK);
    }
}

static void notify_set(struct dice *dice, struct box *box, uint64_t *numbers) {
    uint64_t set[CPUS_MAX / 64] = {0};
    for (uint32_t cpu = 0; cpu < hrt_cpu_count(); cpu++) {
        if (one_in(dice, 2)) {
            set[cpu / 64] |= 1ul << cpu % 64;
            numbers[cpu] = post(box, cpu);
        }
    }
    CHECK_EQUAL(hrt_event_notify_set(box->name, set, (hrt_cpu_count() + 63) / 64), HRT_OK);
}

static void notify_all(struct dice *dice, struct box *box, uint64_t *numbers) {
    bool self = one_in(dice, 2);
    int32_t own = any_cpu(dice);
    bind_self(own);
    for (uint32_t cpu = 0; cpu < hrt_cpu_count(); cpu++) {
        if (self || cpu != (uint32_t)own) {
            numbers[cpu] = post(box, cpu);
        }
    }
    CHECK_EQUAL(hrt_event_notify_all(box->name, self ? HRT_EVENT_SELF : 0), HRT_OK);
    bind_self(HRT_CPU_ANY);
}

static void notify(struct worker *worker) {
    struct dice *dice = &worker->dice;
    struct box *box = &boxes[below(dice, BOXES)];
    uint64_t numbers[CPUS_MAX] = {0};
    uint32_t cpu;
    switch (below(dice, 4)) {
    case 0:
        notify_set(dice, box, numbers);
        break;
    case 1:
        notify_all(dice, box, numbers);
        break;
    default:
        cpu = (uint32_t)any_cpu(dice);
        numbers[cpu] = post(box, cpu);
        CHECK_EQUAL(hrt_event_notify(box->name, (int32_t)cpu), HRT_OK);
    }
    STEP(worker);
    for (cpu = 0; cpu < hrt_cpu_count(); cpu++) {
        await(box, cpu, numbers[cpu]);
    }
}

// Events that come and go; anybody notifies the last that came.
static uint32_t fleeting, late;
static uint32_t alive[WORKERS_MAX];

static HRT_HANDLER void expect_alive(void *arg) {
    if (!__atomic_load_n((uint32_t *)arg, __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&late, 1, __ATOMIC_RELAXED);
    }
}

static void come_and_go(struct worker *worker) {
    uint32_t *own = &alive[worker->index], event;
    __atomic_store_n(own, 1, __ATOMIC_RELEASE);
    CHECK_EQUAL(hrt_event_register(expect_alive, own, 0, &event), HRT_OK);
    __atomic_store_n(&fleeting, event, __ATOMIC_RELEASE);
    for (uint32_t times = below(&worker->dice, 4); times > 0; times--) {
        int status = hrt_event_notify_all(__atomic_load_n(&fleeting, __ATOMIC_ACQUIRE), HRT_EVENT_SELF);
        CHECK(status == HRT_OK || status == HRT_EINVAL);
    }
    STEP(worker);
    CHECK_EQUAL(hrt_event_unregister(event), HRT_OK);
    __atomic_store_n(own, 0, __ATOMIC_RELEASE);
    CHECK_EQUAL(hrt_event_unregister(event), HRT_ESRCH);
    CHECK_EQUAL(__atomic_load_n(&late, __ATOMIC_RELAXED), 0);
}

void event_round(struct worker *worker) {
    uint32_t turns = 1 + below(&worker->dice, 20);
    for (uint32_t turn = 0; turn < turns; turn++) {
        one_in(&worker->dice, 8) ? come_and_go(worker) : notify(worker);
    }
    did(worker, turns);
}

void event_finish(void) {
    for (uint32_t i = 0; i < BOXES; i++) {
        CHECK_EQUAL(hrt_event_unregister(boxes[i].name), HRT_OK);
        for (uint32_t cpu = 0; cpu < hrt_cpu_count(); cpu++) {
            CHECK_EQUAL(boxes[i].mail[cpu].handled, boxes[i].mail[cpu].posted);
        }
    }
}

// --- waiting for an event

struct listener {
    struct dice dice;
    uint32_t event;
    int32_t cpu;
    uint64_t ready, heard;
};

static void *listen(void *arg) {
    struct listener *listener = arg;
    uint64_t seen = 0;
    bind_self(listener->cpu);
    __atomic_store_n(&listener->ready, 1, __ATOMIC_RELEASE);
    for (;;) {
        uint64_t deadline = soon_or_never(&listener->dice), before = seen;
        int status = hrt_event_wait(listener->event, &seen, deadline);
        if (status == HRT_ESRCH) {
            return NULL;
        }
        CHECK(status == HRT_OK || status == HRT_ETIMEDOUT || status == HRT_EINTR);
        CHECK(status != HRT_ETIMEDOUT || hrt_now_ns() >= deadline);
        CHECK_EQUAL(seen, before + (status == HRT_OK));
        __atomic_store_n(&listener->heard, seen, __ATOMIC_RELEASE);
    }
}

void event_wait_round(struct worker *worker) {
    struct dice *dice = &worker->dice;
    struct listener listener = {.dice = {roll(dice)}, .cpu = any_cpu(dice)};
    uint32_t turns = 1 + below(dice, 20), tries = 0;
    CHECK_EQUAL(hrt_event_register(NULL, NULL, 0, &listener.event), HRT_OK);
    hrt_thread_t thread = started(listen, &listener, HRT_CPU_ANY);
    STEP(worker);
    while (!__atomic_load_n(&listener.ready, __ATOMIC_ACQUIRE)) {
        idle_a_bit(&tries);
    }
    for (uint64_t turn = 1; turn <= turns; turn++) {
        STEP(worker);
        CHECK_EQUAL(hrt_event_notify(listener.event, listener.cpu), HRT_OK);
        tries = 0;
        while (__atomic_load_n(&listener.heard, __ATOMIC_ACQUIRE) < turn) {
            idle_a_bit(&tries);
        }
    }
    CHECK_EQUAL(hrt_event_unregister(listener.event), HRT_OK);
    STEP(worker);
    joined(thread);
    did(worker, turns);
}

// --- waiting for memory

struct line {
    _Alignas(128) volatile uint64_t word;
    uint64_t turns;
    struct dice other;
};

// The other side does all odd turns.
static void take_turns(struct line *line, struct dice *dice, uint64_t own) {
    for (uint64_t turn = own; turn < line->turns; turn += 2) {
        uint64_t now;
        while ((now = __atomic_load_n(&line->word, __ATOMIC_ACQUIRE)) != turn) {
            uint64_t deadline = soon_or_never(dice);
            int status = hrt_memory_wait(&line->word, now, deadline);
            CHECK(status == HRT_OK || status == HRT_ETIMEDOUT || status == HRT_EINTR);
            CHECK(status != HRT_ETIMEDOUT || hrt_now_ns() >= deadline);
            CHECK(status != HRT_OK || __atomic_load_n(&line->word, __ATOMIC_ACQUIRE) != now);
        }
        __atomic_store_n(&line->word, turn + 1, __ATOMIC_RELEASE);
    }
}

static void *odd_turns(void *arg) {
    struct line *line = arg;
    struct dice dice = line->other;
    take_turns(line, &dice, 1);
    return NULL;
}

void memory_wait_round(struct worker *worker) {
    struct line line = {.turns = 2 + 2 * below(&worker->dice, 6), .other = {roll(&worker->dice)}};
    int32_t cpu = any_cpu(&worker->dice);
    hrt_thread_t thread = started(odd_turns, &line, (cpu + 1) % (int32_t)hrt_cpu_count());
    bind_self(cpu);
    STEP(worker);
    take_turns(&line, &worker->dice, 0);
    bind_self(HRT_CPU_ANY);
    STEP(worker);
    joined(thread);
    CHECK_EQUAL(line.word, line.turns);
    did(worker, line.turns);
}

// --- raw interrupts

static struct box vector_box;

void ipi_prepare(void) {
    touch(&vector_box);
    CHECK_EQUAL(hrt_ipi_register(handle, &vector_box, 0, &vector_box.name), HRT_OK);
}

// While interrupts are off none is handled here; afterwards it is. Only the kernel turns them off for all.
static void send_self(struct worker *worker) {
    uint64_t state = hrt_irq_disable();
    uint32_t cpu = hrt_cpu_self();
    uint64_t number = post(&vector_box, cpu);
    int status = hrt_ipi_send(vector_box.name, (int32_t)cpu);
    bool early = false;
    for (uint32_t i = 0; i < 200; i++) {
        early = early || __atomic_load_n(&vector_box.mail[cpu].handled, __ATOMIC_ACQUIRE) >= number;
        __builtin_ia32_pause();
    }
    hrt_irq_restore(state);
    CHECK_EQUAL(status, HRT_OK);
    CHECK(!early || hrt_calls->place != HRT_PLACE_KERNEL);
    STEP(worker);
    await(&vector_box, cpu, number);
}

static void own_vector(void) {
    static uint32_t always = 1;
    uint32_t vector;
    int status = hrt_ipi_register(expect_alive, &always, 0, &vector);
    if (status != HRT_ENOSPC) {
        CHECK_EQUAL(status, HRT_OK);
        CHECK_EQUAL(hrt_ipi_send(vector, 0), HRT_OK);
        CHECK_EQUAL(hrt_ipi_unregister(vector), HRT_OK);
        CHECK_EQUAL(hrt_ipi_send(vector, 0), HRT_EINVAL);
    }
}

void ipi_round(struct worker *worker) {
    struct dice *dice = &worker->dice;
    uint32_t turns = 1 + below(dice, 20);
    for (uint32_t turn = 0; turn < turns; turn++) {
        uint32_t kind = below(dice, 8);
        STEP(worker);
        if (kind == 0) {
            own_vector();
        } else if (kind == 1) {
            send_self(worker);
        } else {
            uint32_t cpu = (uint32_t)any_cpu(dice);
            uint64_t number = post(&vector_box, cpu);
            CHECK_EQUAL(hrt_ipi_send(vector_box.name, (int32_t)cpu), HRT_OK);
            await(&vector_box, cpu, number);
        }
    }
    did(worker, turns);
}

void ipi_finish(void) {
    CHECK_EQUAL(hrt_ipi_unregister(vector_box.name), HRT_OK);
    for (uint32_t cpu = 0; cpu < hrt_cpu_count(); cpu++) {
        CHECK_EQUAL(vector_box.mail[cpu].handled, vector_box.mail[cpu].posted);
    }
}
