// SPDX-License-Identifier: Apache-2.0 OR MIT
// The ring of worksharing descriptors.
//
// The state of a descriptor is the number of the construct that it is for, times four, and how far it is with
// that. The last member to leave makes it that of the construct WORKSHARES later.
#include <cstdlib>

#include "doacross.h"
#include "sync.h"

namespace hadal::omp {

namespace {

constexpr uint64_t FREE = 0, TAKEN = 1, READY = 2, STEP = 4;

// Alone, nobody can be behind or ahead.
void clear(Workshare &workshare) {
    if (HRT_UNLIKELY(workshare.shared != nullptr)) {
        free(workshare.shared);
        workshare.shared = nullptr;
    }
    if (HRT_UNLIKELY(workshare.doacross != nullptr)) {
        doacross_free(workshare.doacross);
        workshare.doacross = nullptr;
    }
    workshare.reductions = nullptr;
    workshare.copy = nullptr;
    workshare.is_cancelled = 0;
    workshare.next = 0;
    workshare.ordered = 0;
    workshare.left = 0;
}

} // namespace

void workshare_reset(Workshare &workshare, uint64_t number) {
    clear(workshare);
    workshare.state = number * STEP + FREE;
}

void workshares_reset(Team &team) {
    for (uint64_t index = 0; index < WORKSHARES; index++) {
        workshare_reset(team.workshares[index], index);
    }
    team.members[0]->workshares = 0;
}

bool workshare_enter(Member &me) {
    uint64_t number = me.workshares++;
    Workshare &workshare = me.team->workshares[number % WORKSHARES];
    me.workshare = &workshare;
    me.chunk = {0, 0};
    me.dealt = 0;
    me.ready.clear();
    me.batch = 1;
    if (me.size == 1) {
        return true;
    }
    uint64_t free_state = number * STEP + FREE;
    uint64_t state = HRT_LOAD(&workshare.state, HRT_ACQUIRE);
    if (HRT_UNLIKELY(state < free_state)) {
        // Some member is WORKSHARES constructs behind.
        await(me, [&] { return (state = HRT_LOAD(&workshare.state, HRT_ACQUIRE)) >= free_state; });
    }
    if (state == free_state && HRT_CAS(&workshare.state, &state, number * STEP + TAKEN, HRT_ACQUIRE)) {
        return true;
    }
    await(me, [&] { return HRT_LOAD(&workshare.state, HRT_ACQUIRE) >= number * STEP + READY; });
    return false;
}

void workshare_publish(Member &me) {
    if (me.size > 1) {
        Workshare &workshare = *me.workshare;
        HRT_EXCHANGE(&workshare.state, (me.workshares - 1) * STEP + READY, HRT_SEQ_CST);
        if (has_sleepers(*me.team)) {
            notify_all(*me.team);
        }
    }
}

void workshare_leave(Member &me) {
    Workshare &workshare = *me.workshare;
    me.workshare = nullptr;
    me.ready.clear();
    if (me.size == 1) {
        clear(workshare);
        return;
    }
    if (HRT_FETCH_ADD(&workshare.left, 1, HRT_ACQ_REL) + 1 < me.size) {
        return;
    }
    // Not always the last that the member has met: it may have been in two at a time (kmpc/doacross.cpp).
    uint64_t number = workshare.state / STEP;
    clear(workshare);
    HRT_EXCHANGE(&workshare.state, (number + WORKSHARES) * STEP + FREE, HRT_SEQ_CST);
    if (has_sleepers(*me.team)) {
        notify_all(*me.team);
    }
}

bool single_enter(Member &me) {
    uint32_t mine = me.singles++;
    if (me.size == 1) {
        me.team->singles = me.singles;
        return true;
    }
    uint32_t *taken = &me.team->singles;
    return HRT_LOAD(taken, HRT_RELAXED) == mine && HRT_CAS(taken, &mine, mine + 1, HRT_ACQUIRE);
}

} // namespace hadal::omp
