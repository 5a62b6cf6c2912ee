// SPDX-License-Identifier: Apache-2.0 OR MIT
// Threads: places and priorities changed by oneself and by others, forks, keys.
#include "stress.h"

#define NOINLINE __attribute__((noinline))
#define THREADS 6

// --- binding, migration and priorities, by oneself and by others

struct mover {
    struct dice dice;
    bool own; // moves itself
    uint32_t stop;
};

static void *move(void *arg) {
    struct mover *mover = arg;
    while (!__atomic_load_n(&mover->stop, __ATOMIC_ACQUIRE)) {
        if (mover->own) {
            int32_t cpu = any_cpu(&mover->dice);
            bind_self(cpu);
            for (uint32_t turns = below(&mover->dice, 3); turns > 0; turns--) {
                CHECK_EQUAL(hrt_cpu_self(), cpu);
                hrt_thread_yield();
            }
            CHECK_EQUAL(hrt_cpu_self(), cpu);
        } else if (one_in(&mover->dice, 4)) {
            hrt_thread_sleep_until(soon(&mover->dice));
        } else {
            hrt_thread_yield();
        }
    }
    return NULL;
}

static void disturb(struct dice *dice, hrt_thread_t thread, bool own) {
    struct hrt_thread_attr attr;
    struct hrt_thread_info info;
    hrt_thread_attr_init(&attr);
    attr.priority += (int32_t)below(dice, 4);
    CHECK_EQUAL(hrt_thread_set_schedule(thread, &attr), HRT_OK);
    CHECK_EQUAL(hrt_thread_info(thread, &info), HRT_OK);
    CHECK_EQUAL(info.priority, attr.priority);
    if (own) {
        return;
    }
    int32_t cpu = any_cpu(dice);
    CHECK_EQUAL(hrt_thread_bind(thread, cpu), HRT_OK);
    CHECK_EQUAL(hrt_thread_info(thread, &info), HRT_OK);
    CHECK_EQUAL(info.bound_cpu, cpu);
    int32_t other = any_cpu(dice);
    CHECK_EQUAL(hrt_thread_migrate(thread, other), other == cpu ? HRT_OK : HRT_EBUSY);
    CHECK_EQUAL(hrt_thread_bind(thread, HRT_CPU_ANY), HRT_OK);
    CHECK_EQUAL(hrt_thread_migrate(thread, any_cpu(dice)), HRT_OK);
}

void place_round(struct worker *worker) {
    struct dice *dice = &worker->dice;
    struct mover movers[4];
    hrt_thread_t threads[4], list[8];
    uint32_t count = 1 + below(dice, 4), turns = 5 + below(dice, 20);
    for (uint32_t i = 0; i < count; i++) {
        movers[i] = (struct mover){.dice = {roll(dice)}, .own = one_in(dice, 2)};
        threads[i] = started(move, &movers[i], HRT_CPU_ANY);
    }
    for (uint32_t turn = 0; turn < turns; turn++) {
        STEP(worker);
        uint32_t i = below(dice, count);
        disturb(dice, threads[i], movers[i].own);
    }
    CHECK(hrt_thread_list(list, 8) > count);
    for (uint32_t i = 0; i < count; i++) {
        __atomic_store_n(&movers[i].stop, 1, __ATOMIC_RELEASE);
        STEP(worker);
        joined(threads[i]);
    }
    did(worker, turns);
}

// --- forks

// A tree of forks; every leaf is one.
static NOINLINE uintptr_t family(uint32_t depth, uint64_t seed) {
    volatile uint64_t marked[4] = {seed, ~seed, seed + 1, depth};
    hrt_thread_t left, right;
    if (depth == 0) {
        return 1;
    }
    int first = hrt_thread_fork(NULL, &left);
    if (first == HRT_FORK_CHILD || hrt_thread_fork(NULL, &right) == HRT_FORK_CHILD) {
        CHECK(marked[0] == seed && marked[1] == ~seed && marked[2] == seed + 1 && marked[3] == depth);
        marked[0] = 0; // the child's copy
        return family(depth - 1, seed + 1);
    }
    uintptr_t sum = (uintptr_t)joined(left);
    sum += (uintptr_t)joined(right);
    CHECK(marked[0] == seed && marked[1] == ~seed && marked[2] == seed + 1 && marked[3] == depth);
    return sum;
}

void fork_round(struct worker *worker) {
    uint32_t depth = below(&worker->dice, 5);
    STEP(worker);
    CHECK_EQUAL(family(depth, roll(&worker->dice)), 1u << depth);
    did(worker, 1u << depth);
}

// --- keys

static void count_value(void *value) { __atomic_fetch_add((uint32_t *)value, 1, __ATOMIC_RELAXED); }

struct keyed {
    uint32_t key;
    uint32_t destroyed;
};

static void *use_key(void *arg) {
    struct keyed *keyed = arg;
    CHECK(hrt_key_get(keyed->key) == NULL);
    CHECK_EQUAL(hrt_key_set(keyed->key, &keyed->destroyed), HRT_OK);
    hrt_thread_yield();
    CHECK(hrt_key_get(keyed->key) == &keyed->destroyed);
    return NULL;
}

void key_round(struct worker *worker) {
    struct dice *dice = &worker->dice;
    struct keyed keyed = {0};
    hrt_thread_t threads[THREADS];
    uint32_t count = 1 + below(dice, THREADS);
    did(worker, 1);
    int status = hrt_key_create(&keyed.key, count_value);
    if (status == HRT_ENOSPC) {
        return;
    }
    CHECK_EQUAL(status, HRT_OK);
    CHECK(hrt_key_get(keyed.key) == NULL);
    CHECK_EQUAL(hrt_key_set(keyed.key, worker), HRT_OK);
    for (uint32_t i = 0; i < count; i++) {
        threads[i] = started(use_key, &keyed, HRT_CPU_ANY);
    }
    STEP(worker);
    for (uint32_t i = 0; i < count; i++) {
        joined(threads[i]);
    }
    CHECK_EQUAL(keyed.destroyed, count);
    CHECK(hrt_key_get(keyed.key) == worker);
    CHECK_EQUAL(hrt_key_set(keyed.key, NULL), HRT_OK);
    CHECK_EQUAL(hrt_key_delete(keyed.key), HRT_OK);
}
