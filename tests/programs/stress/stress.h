// SPDX-License-Identifier: Apache-2.0 OR MIT
// Stress of everything in hadal/hrt.h at once: what its parts share. Workers take parts at random; a part
// does a round of operations with random parameters and checks what must hold. The watchdog is in main.c.
#ifndef HADAL_TEST_STRESS_H
#define HADAL_TEST_STRESS_H

#include <hadal/hrt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS_MAX 256u
#define CPUS_MAX 256u
#define PARTS_MAX 40u

// Reports and ends the program: see main.c.
__attribute__((noreturn)) void stress_failed(const char *file, int line, const char *what, uint64_t left,
                                             uint64_t right);

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            stress_failed(__FILE__, __LINE__, #condition, 0, 1);                                             \
        }                                                                                                    \
    } while (0)

// CHECK with the two numbers that should be equal.
#define CHECK_EQUAL(left, right)                                                                             \
    do {                                                                                                     \
        uint64_t check_left = (uint64_t)(left), check_right = (uint64_t)(right);                             \
        if (check_left != check_right) {                                                                     \
            stress_failed(__FILE__, __LINE__, #left " == " #right, check_left, check_right);                 \
        }                                                                                                    \
    } while (0)

// --- chance

struct dice {
    uint64_t state;
};

// Splitmix64: every state is a good one, so a seed and an index make a sequence.
static inline uint64_t roll(struct dice *dice) {
    uint64_t value = dice->state += 0x9e3779b97f4a7c15u;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

static inline uint32_t below(struct dice *dice, uint32_t limit) {
    return (uint32_t)((roll(dice) >> 32) * limit >> 32);
}

static inline bool one_in(struct dice *dice, uint32_t times) { return below(dice, times) == 0; }

static inline int32_t any_cpu(struct dice *dice) { return (int32_t)below(dice, hrt_cpu_count()); }

// --- time

// A deadline in the past, now, or up to 3 ms away; times of all orders are as likely.
static inline uint64_t soon(struct dice *dice) {
    if (one_in(dice, 16)) {
        return 0;
    }
    return hrt_now_ns() + (roll(dice) % 3000000 >> below(dice, 16));
}

// The same, or none: a wake-up that is lost then shows as a stall.
static inline uint64_t soon_or_never(struct dice *dice) { return one_in(dice, 3) ? soon(dice) : HRT_FOREVER; }

#define CHECK_LATE(deadline) CHECK(hrt_now_ns() >= (deadline))

// For conditions that nobody wakes for: yields first, then sleeps.
static inline void idle_a_bit(uint32_t *tries) {
    if (++*tries < 50) {
        hrt_thread_yield();
    } else {
        hrt_thread_sleep_until(hrt_now_ns() + 200000);
    }
}

// --- workers and parts

struct part;

struct worker {
    _Alignas(128) struct dice dice;
    uint32_t index;
    hrt_thread_t thread;
    const struct part *part; // of the round that runs; NULL: none
    uint32_t line;           // where the round got to last, and when
    uint64_t stepped_ns;
    uint64_t operations[PARTS_MAX];
    uint64_t longest_ns[PARTS_MAX];
};

struct part {
    const char *name;
    void (*round)(struct worker *worker);
    void (*prepare)(void); // before all rounds, or NULL
    void (*finish)(void);  // checks what must hold when all is quiet, or NULL
};

extern const struct part PARTS[];
extern const uint32_t PART_COUNT;

// Tells the watchdog that the round goes on, and where.
#define STEP(worker)                                                                                         \
    do {                                                                                                     \
        __atomic_store_n(&(worker)->line, __LINE__, __ATOMIC_RELAXED);                                       \
        __atomic_store_n(&(worker)->stepped_ns, hrt_now_ns(), __ATOMIC_RELAXED);                             \
    } while (0)

// Counts operations of the round's part.
static inline void did(struct worker *worker, uint64_t operations) {
    uint64_t *count = &worker->operations[worker->part - PARTS];
    __atomic_store_n(count, *count + operations, __ATOMIC_RELAXED);
}

// --- threads of a round

static inline hrt_thread_t started(hrt_thread_fn fn, void *arg, int32_t cpu) {
    struct hrt_thread_attr attr;
    hrt_thread_t thread;
    hrt_thread_attr_init(&attr);
    attr.cpu = cpu;
    CHECK_EQUAL(hrt_thread_create(&thread, &attr, fn, arg), HRT_OK);
    return thread;
}

static inline void *joined(hrt_thread_t thread) {
    void *result = NULL;
    CHECK_EQUAL(hrt_thread_join(thread, &result), HRT_OK);
    return result;
}

static inline void bind_self(int32_t cpu) { CHECK_EQUAL(hrt_thread_bind(hrt_thread_self(), cpu), HRT_OK); }

// --- what only one may be in

struct region {
    _Alignas(128) uint32_t inside;
    volatile uint64_t first;
    volatile uint64_t last;
    uint64_t entries; // by those who have left: equal to both when nobody is inside
};

// Goes through the region; false if somebody else was there or has been half through. For handlers, too.
static inline HRT_HANDLER bool passed_alone(struct region *region, uint32_t pauses) {
    bool alone = __atomic_fetch_add(&region->inside, 1, __ATOMIC_ACQ_REL) == 0;
    uint64_t before = region->first;
    alone = alone && region->last == before;
    region->first = before + 1;
    while (pauses-- > 0) {
        __builtin_ia32_pause();
    }
    region->last = before + 1;
    __atomic_fetch_sub(&region->inside, 1, __ATOMIC_ACQ_REL);
    __atomic_fetch_add(&region->entries, 1, __ATOMIC_RELAXED);
    return alone;
}

static inline void check_region(const struct region *region) {
    CHECK_EQUAL(region->first, region->entries);
    CHECK_EQUAL(region->last, region->entries);
}

// What timers and events pass through with interrupts off: see locks.c.
HRT_HANDLER void pass_in_handler(void);

// The parts.
void threads_round(struct worker *worker);
void threads_finish(void);
void bare_round(struct worker *worker);
void place_round(struct worker *worker);
void fork_round(struct worker *worker);
void key_round(struct worker *worker);
void spin_round(struct worker *worker);
void ticket_round(struct worker *worker);
void mcs_round(struct worker *worker);
void spin_finish(void);
void mutex_prepare(void);
void mutex_round(struct worker *worker);
void mutex_finish(void);
void rwlock_prepare(void);
void rwlock_round(struct worker *worker);
void rwlock_finish(void);
void cond_round(struct worker *worker);
void cond_finish(void);
void sem_prepare(void);
void sem_round(struct worker *worker);
void sem_finish(void);
void queue_round(struct worker *worker);
void word_round(struct worker *worker);
void requeue_round(struct worker *worker);
void once_round(struct worker *worker);
void central_round(struct worker *worker);
void dissemination_round(struct worker *worker);
void tree_round(struct worker *worker);
void fiber_round(struct worker *worker);
void task_round(struct worker *worker);
void event_prepare(void);
void event_round(struct worker *worker);
void event_finish(void);
void event_wait_round(struct worker *worker);
void memory_wait_round(struct worker *worker);
void ipi_prepare(void);
void ipi_round(struct worker *worker);
void ipi_finish(void);
void timer_prepare(void);
void timer_round(struct worker *worker);
void timer_finish(void);
void timer_thread_round(struct worker *worker);
void memory_round(struct worker *worker);
void memory_finish(void);
void libc_round(struct worker *worker);
void realtime_round(struct worker *worker);
void group_round(struct worker *worker);

#endif
