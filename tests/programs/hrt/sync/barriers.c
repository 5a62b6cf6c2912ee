// SPDX-License-Identifier: Apache-2.0 OR MIT
// Barriers of each algorithm, with and without ranks, for few and for many participants.
#include "parts.h"

#define PARTICIPANTS_MAX 64

static hrt_barrier_t barrier;
static uint32_t participants, episodes, serials;
static bool ranked;
static uint32_t seen[PARTICIPANTS_MAX];

static void meet(uint32_t rank) {
    int status = ranked ? hrt_barrier_wait_rank(&barrier, rank) : hrt_barrier_wait(&barrier);
    CHECK(status == HRT_OK || status == HRT_BARRIER_SERIAL);
    if (status == HRT_BARRIER_SERIAL) {
        __atomic_fetch_add(&serials, 1, __ATOMIC_RELAXED);
    }
}

// The words are plain: only the barrier orders them.
static void *member(void *number) {
    uint32_t rank = (uint32_t)(uintptr_t)number;
    for (uint32_t episode = 1; episode <= episodes; episode++) {
        seen[rank] = episode;
        meet(rank);
        for (uint32_t other = 0; other < participants; other++) {
            CHECK_EQUAL(seen[other], episode);
        }
        meet(rank);
    }
    return NULL;
}

static void all_algorithms(uint32_t count, uint32_t rounds) {
    participants = count;
    episodes = rounds;
    for (uint32_t algorithm = HRT_BARRIER_CENTRAL; algorithm <= HRT_BARRIER_TREE; algorithm++) {
        for (int way = 0; way < 2; way++) {
            ranked = way == 1;
            serials = 0;
            CHECK_EQUAL(hrt_barrier_init(&barrier, count, algorithm, NULL), HRT_OK);
            in_threads(count, member);
            CHECK_EQUAL(serials, 2 * rounds);
            CHECK_EQUAL(hrt_barrier_destroy(&barrier), HRT_OK);
        }
    }
}

void barriers(void) {
    for (uint32_t count = 1; count <= 7; count += 3) {
        all_algorithms(count, 100);
    }
    static hrt_barrier_t ready = HRT_BARRIER_INIT(1);
    CHECK_EQUAL(hrt_barrier_wait(&ready), HRT_BARRIER_SERIAL);
    CHECK_EQUAL(hrt_barrier_wait_rank(&ready, 0), HRT_BARRIER_SERIAL);
    CHECK_EQUAL(hrt_barrier_wait_rank(&ready, 1), HRT_EINVAL);
    CHECK_EQUAL(hrt_barrier_destroy(&ready), HRT_OK);
    uint32_t last = hrt_cpu_count() - 1;
    uint32_t cpus[3] = {last, 0, last};
    CHECK_EQUAL(hrt_barrier_init(&ready, 3, HRT_BARRIER_TREE, cpus), HRT_OK);
    CHECK_EQUAL(hrt_barrier_destroy(&ready), HRT_OK);
    cpus[1] = last + 1;
    CHECK_EQUAL(hrt_barrier_init(&ready, 3, HRT_BARRIER_TREE, cpus), HRT_EINVAL);
}

void wide_barriers(void) { all_algorithms(PARTICIPANTS_MAX, 4); }
