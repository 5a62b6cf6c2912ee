// SPDX-License-Identifier: Apache-2.0 OR MIT
// Scenarios of the barriers: in each of several episodes everybody sees what the others wrote before it, and
// nobody is left behind.
#include <hadal/hrt/sync.h>

#include "model.h"

#define EPISODES 2

static hrt_barrier_t barrier;
static int written[MODEL_THREADS];
static unsigned participants;
static uint32_t serials;

static void plant(uint32_t count, uint32_t algorithm) {
    participants = count;
    serials = 0;
    for (unsigned thread = 0; thread < MODEL_THREADS; thread++) {
        written[thread] = 0;
    }
    model_check(hrt_barrier_init(&barrier, count, algorithm, NULL) == HRT_OK);
}
static void central_two(void) { plant(2, HRT_BARRIER_CENTRAL); }
static void central_three(void) { plant(3, HRT_BARRIER_CENTRAL); }
static void dissemination_two(void) { plant(2, HRT_BARRIER_DISSEMINATION); }
static void dissemination_three(void) { plant(3, HRT_BARRIER_DISSEMINATION); }
static void tree_two(void) { plant(2, HRT_BARRIER_TREE); }
static void tree_three(void) { plant(3, HRT_BARRIER_TREE); }

// Two barriers an episode: after the first all have written, before the second all have read.
static void meet(int status) {
    model_check(status == HRT_OK || status == HRT_BARRIER_SERIAL);
    if (status == HRT_BARRIER_SERIAL) {
        HRT_FETCH_ADD(&serials, 1, HRT_RELAXED);
    }
}
static void look(int episode) {
    for (unsigned thread = 0; thread < participants; thread++) {
        model_check(MODEL_GET(written[thread]) == episode);
    }
}
static void any_rank(void) {
    for (int episode = 1; episode <= EPISODES; episode++) {
        MODEL_SET(written[model_self()], episode);
        meet(hrt_barrier_wait(&barrier));
        look(episode);
        meet(hrt_barrier_wait(&barrier));
    }
}
static void own_rank(void) {
    for (int episode = 1; episode <= EPISODES; episode++) {
        MODEL_SET(written[model_self()], episode);
        meet(hrt_barrier_wait_rank(&barrier, model_self()));
        look(episode);
        meet(hrt_barrier_wait_rank(&barrier, model_self()));
    }
}
// The second may begin before the first has been left everywhere.
static void twice_any_rank(void) {
    MODEL_SET(written[model_self()], 1);
    meet(hrt_barrier_wait(&barrier));
    look(1);
    meet(hrt_barrier_wait(&barrier));
}
static void once_own_rank(void) {
    MODEL_SET(written[model_self()], 1);
    meet(hrt_barrier_wait_rank(&barrier, model_self()));
    look(1);
}
static void once_any_rank(void) {
    MODEL_SET(written[model_self()], 1);
    meet(hrt_barrier_wait(&barrier));
    look(1);
}
static void one_serial_each(void) {
    model_check(HRT_LOAD(&serials, HRT_RELAXED) == 2 * EPISODES);
    model_check(hrt_barrier_destroy(&barrier) == HRT_OK);
    model_check(hrt_barrier_wait(&barrier) == HRT_EINVAL);
}
static void one_serial(void) {
    model_check(HRT_LOAD(&serials, HRT_RELAXED) == 1);
    model_check(hrt_barrier_destroy(&barrier) == HRT_OK);
}
static void two_serials(void) {
    model_check(HRT_LOAD(&serials, HRT_RELAXED) == 2);
    model_check(hrt_barrier_destroy(&barrier) == HRT_OK);
}
// Whoever comes out and finds the barrier empty may take its memory.
static void destroyer(void) {
    meet(hrt_barrier_wait(&barrier));
    int status = hrt_barrier_destroy(&barrier);
    model_check(status == HRT_OK || status == HRT_EBUSY);
    if (status == HRT_OK) {
        model_retire(&barrier, sizeof barrier);
    }
}
static void leaver(void) { meet(hrt_barrier_wait(&barrier)); }

const struct model_scenario model_barrier_scenarios[] = {
    {.name = "barrier/central",
     .setup = central_two,
     .threads = {any_rank, any_rank},
     .finish = one_serial_each,
     .preemptions = 2},
    {.name = "barrier/central-three",
     .setup = central_three,
     .threads = {once_any_rank, once_any_rank, once_any_rank},
     .finish = one_serial,
     .preemptions = 2},
    {.name = "barrier/spinning",
     .setup = dissemination_two,
     .threads = {own_rank, own_rank},
     .finish = one_serial_each,
     .preemptions = 1,
     .spins = 1},
    {.name = "barrier/central-destroy", .setup = central_two, .threads = {destroyer, leaver}},
    {.name = "barrier/dissemination",
     .setup = dissemination_two,
     .threads = {own_rank, own_rank},
     .finish = one_serial_each,
     .preemptions = 2},
    {.name = "barrier/dissemination-three",
     .setup = dissemination_three,
     .threads = {once_own_rank, once_own_rank, once_own_rank},
     .finish = one_serial,
     .preemptions = 1},
    {.name = "barrier/dissemination-any-rank",
     .setup = dissemination_two,
     .threads = {any_rank, any_rank},
     .finish = one_serial_each,
     .preemptions = 2},
    {.name = "barrier/tree",
     .setup = tree_two,
     .threads = {own_rank, own_rank},
     .finish = one_serial_each,
     .preemptions = 2},
    {.name = "barrier/tree-three",
     .setup = tree_three,
     .threads = {once_own_rank, once_own_rank, once_own_rank},
     .finish = one_serial,
     .preemptions = 2},
    {.name = "barrier/tree-any-rank",
     .setup = tree_three,
     .threads = {twice_any_rank, twice_any_rank, twice_any_rank},
     .finish = two_serials,
     .preemptions = 1},
    {.name = NULL},
};
