// SPDX-License-Identifier: Apache-2.0 OR MIT
// Waiting: duels of two threads that take turns by each primitive, so that a lost wake-up stalls; a bounded
// buffer and a pool whose items are counted; once.
#include "stress.h"

static uint32_t wake_flags(struct dice *dice) { return one_in(dice, 2) ? HRT_WAKE_KICK : HRT_WAKE_NO_KICK; }

// --- duels

struct duel {
    uint32_t turn; // whose it is: the number of turns so far, odd or even
    uint32_t turns;
    hrt_mutex_t mutex;
    hrt_cond_t cond;
    hrt_wait_queue_t queue;
    hrt_sem_t sems[2];
    void (*take_turn)(struct duel *duel, struct dice *dice, uint32_t own);
    struct dice other;
};

static void *second(void *arg) {
    struct duel *duel = arg;
    struct dice dice = duel->other;
    for (uint32_t turn = 1; turn < duel->turns; turn += 2) {
        duel->take_turn(duel, &dice, 1);
    }
    return NULL;
}

static void fight(struct worker *worker,
                  void (*take_turn)(struct duel *duel, struct dice *dice, uint32_t own)) {
    struct dice *dice = &worker->dice;
    struct duel duel = {.turns = 2 + 2 * below(dice, 60),
                        .mutex = HRT_MUTEX_INIT,
                        .cond = HRT_COND_INIT,
                        .queue = HRT_WAIT_QUEUE_INIT,
                        .sems = {HRT_SEM_INIT(1), HRT_SEM_INIT(0)},
                        .take_turn = take_turn,
                        .other = {roll(dice)}};
    hrt_thread_t thread = started(second, &duel, one_in(dice, 2) ? any_cpu(dice) : HRT_CPU_ANY);
    for (uint32_t turn = 0; turn < duel.turns; turn += 2) {
        STEP(worker);
        take_turn(&duel, dice, 0);
    }
    STEP(worker);
    joined(thread);
    CHECK_EQUAL(duel.turn, duel.turns);
    CHECK_EQUAL(hrt_mutex_destroy(&duel.mutex), HRT_OK);
    CHECK_EQUAL(hrt_cond_destroy(&duel.cond), HRT_OK);
    CHECK_EQUAL(hrt_wait_queue_destroy(&duel.queue), HRT_OK);
    CHECK_EQUAL(hrt_sem_destroy(&duel.sems[0]), HRT_OK);
    CHECK_EQUAL(hrt_sem_destroy(&duel.sems[1]), HRT_OK);
    did(worker, duel.turns);
}

static uint32_t turn_of(const struct duel *duel) { return __atomic_load_n(&duel->turn, __ATOMIC_ACQUIRE); }

// Only whose turn it is may end it.
static void end_turn(struct duel *duel, uint32_t own) {
    CHECK_EQUAL(__atomic_fetch_add(&duel->turn, 1, __ATOMIC_ACQ_REL) % 2, own);
}

static void check_wait(int status, uint64_t deadline) {
    if (status == HRT_ETIMEDOUT) {
        CHECK_LATE(deadline);
    } else {
        CHECK_EQUAL(status, HRT_OK);
    }
}

static void turn_by_cond(struct duel *duel, struct dice *dice, uint32_t own) {
    bool holding = one_in(dice, 2);
    CHECK_EQUAL(hrt_mutex_lock(&duel->mutex), HRT_OK);
    while (turn_of(duel) % 2 != own) {
        uint64_t deadline = soon_or_never(dice);
        check_wait(hrt_cond_wait_until(&duel->cond, &duel->mutex, deadline), deadline);
    }
    end_turn(duel, own);
    if (!holding) {
        CHECK_EQUAL(hrt_mutex_unlock(&duel->mutex), HRT_OK);
    }
    CHECK_EQUAL(one_in(dice, 4) ? hrt_cond_broadcast(&duel->cond, wake_flags(dice))
                                : hrt_cond_signal(&duel->cond, wake_flags(dice)),
                HRT_OK);
    if (holding) {
        CHECK_EQUAL(hrt_mutex_unlock(&duel->mutex), HRT_OK);
    }
}

static void turn_by_sem(struct duel *duel, struct dice *dice, uint32_t own) {
    int status;
    do {
        uint64_t deadline = soon_or_never(dice);
        status = hrt_sem_wait_until(&duel->sems[own], deadline);
        check_wait(status, deadline);
    } while (status != HRT_OK);
    end_turn(duel, own);
    CHECK_EQUAL(hrt_sem_trywait(&duel->sems[own]), HRT_EAGAIN);
    if (turn_of(duel) < duel->turns) {
        CHECK_EQUAL(hrt_sem_post(&duel->sems[1 - own]), HRT_OK);
    }
}

struct own_turn {
    const struct duel *duel;
    uint32_t own;
};

static bool is_own_turn(void *arg) {
    const struct own_turn *turn = arg;
    return turn_of(turn->duel) % 2 == turn->own;
}

static void turn_by_queue(struct duel *duel, struct dice *dice, uint32_t own) {
    struct own_turn turn = {duel, own};
    int status;
    do {
        uint64_t deadline = soon_or_never(dice);
        status = hrt_wait_queue_wait_for(&duel->queue, is_own_turn, &turn, deadline);
        check_wait(status, deadline);
    } while (status != HRT_OK);
    end_turn(duel, own);
    CHECK_EQUAL(hrt_wait_queue_wake(&duel->queue, one_in(dice, 2) ? 1 : HRT_WAKE_ALL, wake_flags(dice)),
                HRT_OK);
}

static void turn_by_word(struct duel *duel, struct dice *dice, uint32_t own) {
    uint32_t turn;
    while ((turn = turn_of(duel)) % 2 != own) {
        uint64_t deadline = soon_or_never(dice);
        int status = hrt_wait(&duel->turn, turn, deadline, one_in(dice, 2) ? HRT_WAIT_NO_INTR : 0);
        CHECK(status == HRT_OK || status == HRT_EAGAIN || status == HRT_ETIMEDOUT);
        CHECK(status != HRT_ETIMEDOUT || hrt_now_ns() >= deadline);
    }
    end_turn(duel, own);
    hrt_wake(&duel->turn, 1, wake_flags(dice));
}

// --- a bounded buffer

#define BUFFER_ITEMS 8

static struct {
    hrt_mutex_t mutex;
    hrt_cond_t not_full, not_empty;
    uint64_t items[BUFFER_ITEMS];
    uint32_t put_at, take_at, count;
    uint64_t put, taken, put_sum, taken_sum;
} buffer = {.mutex = HRT_MUTEX_INIT, .not_full = HRT_COND_INIT, .not_empty = HRT_COND_INIT};

static void use_buffer(struct dice *dice) {
    bool put = one_in(dice, 2);
    uint32_t unusable = put ? BUFFER_ITEMS : 0;
    uint64_t deadline = soon(dice);
    int status = HRT_OK;
    CHECK_EQUAL(hrt_mutex_lock(&buffer.mutex), HRT_OK);
    while (buffer.count == unusable && status == HRT_OK) {
        status = hrt_cond_wait_until(put ? &buffer.not_full : &buffer.not_empty, &buffer.mutex, deadline);
        check_wait(status, deadline);
    }
    CHECK(buffer.count <= BUFFER_ITEMS);
    bool usable = buffer.count != unusable;
    if (usable && put) {
        uint64_t item = roll(dice);
        buffer.items[buffer.put_at++ % BUFFER_ITEMS] = item;
        buffer.count++;
        buffer.put++;
        buffer.put_sum += item;
    } else if (usable) {
        buffer.taken_sum += buffer.items[buffer.take_at++ % BUFFER_ITEMS];
        buffer.count--;
        buffer.taken++;
    }
    CHECK_EQUAL(hrt_mutex_unlock(&buffer.mutex), HRT_OK);
    // A time-out may have eaten a signal that came with it; all waits here have time-outs.
    hrt_cond_signal(put ? &buffer.not_empty : &buffer.not_full, wake_flags(dice));
}

void cond_round(struct worker *worker) {
    if (one_in(&worker->dice, 2)) {
        fight(worker, turn_by_cond);
        return;
    }
    uint32_t turns = 1 + below(&worker->dice, 50);
    for (uint32_t turn = 0; turn < turns; turn++) {
        STEP(worker);
        use_buffer(&worker->dice);
    }
    did(worker, turns);
}

void cond_finish(void) {
    CHECK_EQUAL(buffer.put - buffer.taken, buffer.count);
    while (buffer.count-- > 0) {
        buffer.taken_sum += buffer.items[buffer.take_at++ % BUFFER_ITEMS];
    }
    CHECK_EQUAL(buffer.put_sum, buffer.taken_sum);
    CHECK_EQUAL(hrt_cond_destroy(&buffer.not_full), HRT_OK);
    CHECK_EQUAL(hrt_cond_destroy(&buffer.not_empty), HRT_OK);
}

// --- a pool of few places

#define PLACES 3

static hrt_sem_t pool;
static uint32_t in_pool;

void sem_prepare(void) { CHECK_EQUAL(hrt_sem_init(&pool, PLACES), HRT_OK); }

static void use_pool(struct dice *dice) {
    uint64_t deadline = soon_or_never(dice);
    int status = one_in(dice, 4) ? hrt_sem_trywait(&pool) : hrt_sem_wait_until(&pool, deadline);
    if (status == HRT_EAGAIN) {
        return;
    }
    check_wait(status, deadline);
    if (status == HRT_OK) {
        CHECK(__atomic_fetch_add(&in_pool, 1, __ATOMIC_ACQ_REL) < PLACES);
        if (one_in(dice, 10)) {
            hrt_thread_yield();
        }
        __atomic_fetch_sub(&in_pool, 1, __ATOMIC_ACQ_REL);
        CHECK_EQUAL(hrt_sem_post(&pool), HRT_OK);
    }
}

void sem_round(struct worker *worker) {
    if (one_in(&worker->dice, 2)) {
        fight(worker, turn_by_sem);
        return;
    }
    uint32_t turns = 1 + below(&worker->dice, 50);
    for (uint32_t turn = 0; turn < turns; turn++) {
        STEP(worker);
        use_pool(&worker->dice);
    }
    did(worker, turns);
}

void sem_finish(void) {
    uint32_t value = 0;
    CHECK_EQUAL(hrt_sem_value(&pool, &value), HRT_OK);
    CHECK_EQUAL(value, PLACES);
    CHECK_EQUAL(hrt_sem_destroy(&pool), HRT_OK);
}

void queue_round(struct worker *worker) { fight(worker, turn_by_queue); }

void word_round(struct worker *worker) { fight(worker, turn_by_word); }
