// SPDX-License-Identifier: Apache-2.0 OR MIT
// Scenarios of the OpenMP run-time for the model checker of libhrt (runtimes/hrt/model): the deque of tasks,
// locks, and how teams fork, meet at barriers and join, with members that sleep.
#include <cstdlib>
#include <new>

#include "core/barrier.h"
#include "core/deque.h"
#include "core/lock.h"

extern "C" {
#include "model/model.h"
extern const struct model_scenario model_openmp_scenarios[];
}

namespace hadal::omp {

// What the run-time itself has elsewhere. No tasks are generated here but in the deque's scenarios.
Settings settings;
bool task_run_one(Member &) { return false; }
bool task_may_find(const Member &) { return false; }
// Waiters for locks do not spin, as in teams that may not.
constinit thread_local Member *current = nullptr;
void fatal(const char *, ...) { std::abort(); }

} // namespace hadal::omp

using namespace hadal::omp;

namespace {

// --- the deque: every item is taken once, with what its owner wrote

struct Item {
    int number;
    int payload;
};

enum { ITEMS = 4 };
Item items[ITEMS];
int taken[ITEMS], pushed;
Deque<Item> deque;
Deque<Item>::Places places;

void setup_deque() {
    deque = Deque<Item>();
    places = {};
    deque.give_places(&places);
    for (int number = 0; number < ITEMS; number++) {
        items[number] = {number, -1};
        taken[number] = 0;
    }
    pushed = 0;
}

bool have(Item *item) {
    if (item == nullptr) {
        return false;
    }
    model_check(MODEL_GET(item->payload) == item->number);
    model_check(taken[item->number]++ == 0);
    return true;
}

void push(int number) {
    MODEL_SET(items[number].payload, number);
    pushed++;
    if (!deque.push(&items[number])) {
        have(&items[number]); // full: the owner runs it
    }
}

bool steal() {
    return have(deque.steal([](const Item &) { return true; }));
}

void setup_two() {
    setup_deque();
    push(0);
    push(1);
}
void owner() {
    have(deque.pop());
    push(2);
    have(deque.pop());
}
void owner_of_one() {
    push(0);
    have(deque.pop());
    push(1);
    have(deque.pop());
}
void owner_of_many() {
    push(2);
    push(3);
    have(deque.pop());
    have(deque.pop());
}
void thief() { steal(); }
void drain_deque() {
    while (have(deque.pop())) {
    }
    int all = 0;
    for (int count : taken) {
        all += count;
    }
    model_check(all == pushed);
}

// --- teams

enum { MEMBERS = 3, REGIONS = 2 };
alignas(64) char team_memory[sizeof(Team)], member_memory[MEMBERS][sizeof(Member)];
alignas(64) char thread_memory[MEMBERS][sizeof(Thread)];
Member *members[MEMBERS];
Team *team;
int input, output[MEMBERS];

void setup_team(uint32_t size) {
    team = ::new (team_memory) Team;
    team->members = members;
    team->size = size;
    for (uint32_t number = 0; number < size; number++) {
        members[number] = ::new (member_memory[number]) Member;
        members[number]->thread = ::new (thread_memory[number]) Thread;
        members[number]->team = team;
        members[number]->number = number;
        members[number]->size = size;
        // Numbers of regions and barriers go on behind 2^32.
        members[number]->epoch = members[number]->start.epoch = UINT32_MAX - 1;
        members[number]->ticket = UINT32_MAX - 1;
        output[number] = 0;
    }
    input = 0;
}
void setup_pair() { setup_team(2); }
void setup_three() { setup_team(3); }
void setup_crowded_pair() {
    setup_team(2);
    team->is_crowded = true;
}
void setup_crowded_three() {
    setup_team(3);
    team->is_crowded = true;
}

// Members see what the primary wrote before the region, and it sees what they have written in it.
void primary() {
    for (int region = 1; region <= REGIONS; region++) {
        Member &me = *members[0];
        MODEL_SET(input, region);
        Start start;
        start.epoch = ++me.epoch;
        start.first_ticket = me.ticket += TICKETS_APART;
        start_region(*team, start);
        join(me);
        for (uint32_t number = 1; number < team->size; number++) {
            model_check(MODEL_GET(output[number]) == region);
        }
    }
}
void member() {
    Member &me = *members[model_self()];
    for (int region = 1; region <= REGIONS; region++) {
        model_check(await_region(me, *me.thread));
        me.epoch = me.start.epoch;
        me.ticket = me.start.first_ticket;
        model_check(MODEL_GET(input) == region);
        MODEL_SET(output[me.number], region);
        join(me);
    }
}

// After a barrier each sees what all have written before it.
void meet(int rounds) {
    Member &me = *members[model_self()];
    for (int round = 1; round <= rounds; round++) {
        MODEL_SET(output[me.number], round);
        barrier(me);
        for (uint32_t number = 0; number < team->size; number++) {
            model_check(MODEL_GET(output[number]) == round);
        }
        if (round < rounds) {
            barrier(me);
        }
    }
}
void meeting() { meet(2); }

// Barriers without tasks, and then with one of either member, which ends before that comes.
void meet_with_tasks() {
    Member &me = *members[model_self()];
    for (uint32_t round = 0; round < 3; round++) {
        if (round == me.number + 1) {
            note_tasks(me);
            HRT_STORE(&me.tasks_created, me.tasks_created + 1, HRT_RELAXED);
            HRT_EXCHANGE(&me.tasks_ended, me.tasks_ended + 1, HRT_SEQ_CST);
        }
        barrier(me);
    }
    model_check(HRT_LOAD(&team->has_tasks, HRT_RELAXED) == 0);
}
void one_meeting() { meet(1); }

// --- locks: one holder at a time, who sees what the ones before have written, and nobody sleeps for ever

Lock the_lock;
int turns;

void setup_lock() {
    setup_pair();
    the_lock = Lock();
    turns = 0;
}
void take_turns(int count) {
    for (; count > 0; count--) {
        current = members[0];
        lock(the_lock);
        MODEL_SET(turns, MODEL_GET(turns) + 1);
        unlock(the_lock);
    }
}
void one_turn() { take_turns(1); }
void two_turns() { take_turns(2); }
// Somebody who was late as often as the lock allows.
void starved_turn() {
    lock(the_lock);
    HRT_STORE(&the_lock.awaited, LOCK_STARVING, HRT_RELAXED);
    MODEL_SET(turns, MODEL_GET(turns) + 1);
    unlock(the_lock);
}
void free_at_end() { model_check(HRT_LOAD(&the_lock.turn, HRT_RELAXED) == LOCK_FREE); }

// With a tool: nobody takes the lock in passing.
void setup_told() {
    setup_lock();
    the_lock.turn = LOCK_TOLD;
}
void told_turn() {
    current = members[0];
    model_check(!lock_at_once(the_lock));
    lock_slow(the_lock);
    MODEL_SET(turns, MODEL_GET(turns) + 1);
    unlock(the_lock, LOCK_TOLD);
}
void starved_told_turn() {
    lock_slow(the_lock);
    HRT_STORE(&the_lock.awaited, LOCK_STARVING, HRT_RELAXED);
    MODEL_SET(turns, MODEL_GET(turns) + 1);
    unlock(the_lock, LOCK_TOLD);
}
void told_at_end() { model_check(HRT_LOAD(&the_lock.turn, HRT_RELAXED) == LOCK_TOLD); }

} // namespace

#define TWICE "taken[item->number]++ == 0"
#define DEADLOCK "deadlock"
#define RACE "data race"

const struct model_scenario model_openmp_scenarios[] = {
    {"openmp/deque", setup_two, {owner, thief, thief}, drain_deque, 2, 0, 0, 0, nullptr},
    {"openmp/deque-last-one", setup_deque, {owner_of_one, thief}, drain_deque, 4, 0, 0, 0, nullptr},
    {"openmp/deque-full", setup_two, {owner_of_many, thief, thief}, drain_deque, 2, 0, 0, 0, nullptr},
    {"openmp/deque-no-fence", setup_two, {owner, thief, thief}, drain_deque, 3, 0, 0, MODEL_NO_FENCE, TWICE},
    {"openmp/deque-no-release",
     setup_deque,
     {owner_of_one, thief},
     drain_deque,
     4,
     0,
     0,
     MODEL_RELEASE_RELAXED,
     RACE},
    {"openmp/lock-of-two", setup_lock, {two_turns, two_turns}, free_at_end, 3, 0, 0, 0, nullptr},
    {"openmp/lock-of-three", setup_lock, {one_turn, one_turn, one_turn}, free_at_end, 3, 0, 0, 0, nullptr},
    {"openmp/lock-handed-on", setup_lock, {starved_turn, one_turn, one_turn}, nullptr, 3, 0, 0, 0, nullptr},
    {"openmp/lock-told", setup_told, {told_turn, told_turn, told_turn}, told_at_end, 3, 0, 0, 0, nullptr},
    {"openmp/lock-told-handed-on",
     setup_told,
     {starved_told_turn, told_turn, told_turn},
     nullptr,
     3,
     0,
     0,
     0,
     nullptr},
    {"openmp/lock-no-wake", setup_lock, {one_turn, one_turn}, nullptr, 3, 0, 0, MODEL_NO_WAKE, DEADLOCK},
    {"openmp/lock-no-deadline",
     setup_lock,
     {one_turn, one_turn},
     nullptr,
     3,
     0,
     0,
     MODEL_NO_DEADLINE,
     DEADLOCK},
    {"openmp/lock-no-release",
     setup_lock,
     {one_turn, one_turn},
     nullptr,
     3,
     0,
     0,
     MODEL_RELEASE_RELAXED,
     RACE},
    {"openmp/lock-no-acquire",
     setup_lock,
     {one_turn, one_turn},
     nullptr,
     3,
     0,
     0,
     MODEL_ACQUIRE_RELAXED,
     RACE},
    {"openmp/region-of-two", setup_pair, {primary, member}, nullptr, 3, 0, 0, 0, nullptr},
    {"openmp/region-of-three", setup_three, {primary, member, member}, nullptr, 1, 0, 0, 0, nullptr},
    {"openmp/region-no-wake", setup_pair, {primary, member}, nullptr, 3, 0, 0, MODEL_NO_WAKE, DEADLOCK},
    {"openmp/region-no-fence", setup_pair, {primary, member}, nullptr, 3, 0, 0, MODEL_NO_FENCE, DEADLOCK},
    {"openmp/region-no-acquire",
     setup_pair,
     {primary, member},
     nullptr,
     3,
     0,
     0,
     MODEL_ACQUIRE_RELAXED,
     RACE},
    {"openmp/barrier-of-two", setup_pair, {meeting, meeting}, nullptr, 2, 0, 0, 0, nullptr},
    {"openmp/barrier-of-three",
     setup_three,
     {one_meeting, one_meeting, one_meeting},
     nullptr,
     2,
     0,
     0,
     0,
     nullptr},
    {"openmp/pair-with-tasks", setup_pair, {meet_with_tasks, meet_with_tasks}, nullptr, 2, 0, 0, 0, nullptr},
    {"openmp/pair-no-wake", setup_pair, {meeting, meeting}, nullptr, 2, 0, 0, MODEL_NO_WAKE, DEADLOCK},
    {"openmp/pair-no-fence", setup_pair, {meeting, meeting}, nullptr, 2, 0, 0, MODEL_NO_FENCE, DEADLOCK},
    {"openmp/crowded-of-two", setup_crowded_pair, {meeting, meeting}, nullptr, 2, 0, 0, 0, nullptr},
    {"openmp/crowded-of-three",
     setup_crowded_three,
     {one_meeting, one_meeting, one_meeting},
     nullptr,
     1,
     0,
     0,
     0,
     nullptr},
    {"openmp/crowded-no-wake",
     setup_crowded_pair,
     {meeting, meeting},
     nullptr,
     2,
     0,
     0,
     MODEL_NO_WAKE,
     DEADLOCK},
    {"openmp/crowded-no-fence",
     setup_crowded_pair,
     {meeting, meeting},
     nullptr,
     2,
     0,
     0,
     MODEL_NO_FENCE,
     DEADLOCK},
    {"openmp/crowded-no-acquire",
     setup_crowded_pair,
     {meeting, meeting},
     nullptr,
     2,
     0,
     0,
     MODEL_ACQUIRE_RELAXED,
     RACE},
    {nullptr, nullptr, {nullptr}, nullptr, 0, 0, 0, 0, nullptr},
};
