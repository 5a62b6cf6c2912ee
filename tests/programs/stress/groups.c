// SPDX-License-Identifier: Apache-2.0 OR MIT
// Teams that meet: barriers by each algorithm, once with work that fails, words whose waiters are moved.
#include "stress.h"

#define MEMBERS_MAX 10u

// --- barriers

struct meeting {
    hrt_barrier_t barrier;
    uint32_t members, episodes;
    bool ranked;
    uint32_t entered[MEMBERS_MAX]; // episodes that each member has come to
    uint32_t serial;               // how often somebody was the one
};

struct member {
    struct meeting *meeting;
    uint32_t rank;
    struct dice dice;
};

static void *meet(void *arg) {
    struct member *member = arg;
    struct meeting *meeting = member->meeting;
    for (uint32_t episode = 1; episode <= meeting->episodes; episode++) {
        __atomic_store_n(&meeting->entered[member->rank], episode, __ATOMIC_RELEASE);
        if (one_in(&member->dice, 20)) {
            hrt_thread_sleep_until(soon(&member->dice));
        }
        int status = meeting->ranked ? hrt_barrier_wait_rank(&meeting->barrier, member->rank)
                                     : hrt_barrier_wait(&meeting->barrier);
        CHECK(status == HRT_OK || status == HRT_BARRIER_SERIAL);
        if (status == HRT_BARRIER_SERIAL) {
            __atomic_fetch_add(&meeting->serial, 1, __ATOMIC_RELAXED);
        }
        for (uint32_t other = 0; other < meeting->members; other++) {
            uint32_t entered = __atomic_load_n(&meeting->entered[other], __ATOMIC_ACQUIRE);
            CHECK(entered == episode || entered == episode + 1);
        }
    }
    return NULL;
}

static void meet_by(struct worker *worker, uint32_t algorithm) {
    struct dice *dice = &worker->dice;
    uint32_t most = hrt_cpu_count() + 2 < MEMBERS_MAX ? hrt_cpu_count() + 2 : MEMBERS_MAX;
    struct meeting meeting = {.members = 1 + below(dice, most), .ranked = one_in(dice, 2)};
    struct member members[MEMBERS_MAX];
    hrt_thread_t threads[MEMBERS_MAX];
    bool bound = one_in(dice, 2);
    meeting.episodes = 1 + below(dice, 30);
    CHECK_EQUAL(hrt_barrier_init(&meeting.barrier, meeting.members, algorithm, NULL), HRT_OK);
    for (uint32_t rank = 0; rank < meeting.members; rank++) {
        members[rank] = (struct member){&meeting, rank, {roll(dice)}};
        int32_t cpu = bound ? (int32_t)(rank % hrt_cpu_count()) : HRT_CPU_ANY;
        threads[rank] = started(meet, &members[rank], cpu);
    }
    for (uint32_t rank = 0; rank < meeting.members; rank++) {
        STEP(worker);
        joined(threads[rank]);
    }
    CHECK_EQUAL(meeting.serial, meeting.episodes);
    CHECK_EQUAL(hrt_barrier_destroy(&meeting.barrier), HRT_OK);
    did(worker, meeting.episodes);
}

void central_round(struct worker *worker) { meet_by(worker, HRT_BARRIER_CENTRAL); }
void dissemination_round(struct worker *worker) { meet_by(worker, HRT_BARRIER_DISSEMINATION); }
void tree_round(struct worker *worker) { meet_by(worker, HRT_BARRIER_TREE); }

// --- once

struct work_once {
    hrt_once_t once;
    uint32_t begun, failures, ended;
};

static void *work_once(void *arg) {
    struct work_once *work = arg;
    int status;
    while ((status = hrt_once_begin(&work->once)) == HRT_ONCE_YOURS) {
        uint32_t begun = __atomic_add_fetch(&work->begun, 1, __ATOMIC_RELAXED);
        hrt_thread_yield();
        if (begun <= work->failures) {
            CHECK_EQUAL(hrt_once_abandon(&work->once), HRT_OK);
        } else {
            work->ended++;
            CHECK_EQUAL(hrt_once_end(&work->once), HRT_OK);
        }
    }
    CHECK_EQUAL(status, HRT_OK);
    CHECK_EQUAL(work->ended, 1);
    return NULL;
}

static void count_call(void *arg) { ++*(uint32_t *)arg; }

void once_round(struct worker *worker) {
    struct dice *dice = &worker->dice;
    struct work_once work = {.once = HRT_ONCE_INIT, .failures = below(dice, 3)};
    hrt_thread_t threads[MEMBERS_MAX];
    uint32_t members = 1 + below(dice, 6), calls = 0;
    for (uint32_t i = 0; i < members; i++) {
        threads[i] = started(work_once, &work, one_in(dice, 2) ? any_cpu(dice) : HRT_CPU_ANY);
    }
    for (uint32_t i = 0; i < members; i++) {
        STEP(worker);
        joined(threads[i]);
    }
    CHECK_EQUAL(work.begun, work.failures + 1);
    hrt_once_t own = HRT_ONCE_INIT;
    CHECK_EQUAL(hrt_once_call(&own, count_call, &calls), HRT_OK);
    CHECK_EQUAL(hrt_once_call(&own, count_call, &calls), HRT_OK);
    CHECK_EQUAL(calls, 1);
    did(worker, members);
}

// --- words whose waiters are moved to another word

struct moved {
    uint32_t from, to, open;
    uint64_t deadline;
};

static void *sleep_on_word(void *arg) {
    struct moved *moved = arg;
    while (!__atomic_load_n(&moved->open, __ATOMIC_ACQUIRE)) {
        int status = hrt_wait(&moved->from, 0, moved->deadline, 0);
        CHECK(status != HRT_ETIMEDOUT || hrt_now_ns() >= moved->deadline);
        if (status == HRT_ETIMEDOUT) {
            hrt_thread_yield();
        }
    }
    return NULL;
}

void requeue_round(struct worker *worker) {
    struct dice *dice = &worker->dice;
    struct moved moved = {.deadline = soon_or_never(dice)};
    hrt_thread_t threads[MEMBERS_MAX];
    uint32_t members = 1 + below(dice, 6), moves = 1 + below(dice, 8);
    for (uint32_t i = 0; i < members; i++) {
        threads[i] = started(sleep_on_word, &moved, one_in(dice, 2) ? any_cpu(dice) : HRT_CPU_ANY);
    }
    for (uint32_t move = 0; move < moves; move++) {
        CHECK_EQUAL(hrt_calls->requeue(&moved.from, 1, 1, &moved.to), HRT_EAGAIN);
        CHECK_EQUAL(hrt_calls->requeue(&moved.from, 0, below(dice, 2), &moved.to), HRT_OK);
        CHECK(hrt_wake(&moved.to, 1, HRT_WAKE_KICK) <= 1);
    }
    __atomic_store_n(&moved.open, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&moved.from, 1, __ATOMIC_RELEASE);
    CHECK(hrt_wake(&moved.from, HRT_WAKE_ALL, HRT_WAKE_NO_KICK) <= members);
    CHECK(hrt_wake(&moved.to, HRT_WAKE_ALL, HRT_WAKE_KICK) <= members);
    for (uint32_t i = 0; i < members; i++) {
        STEP(worker);
        joined(threads[i]);
    }
    did(worker, members + moves);
}
