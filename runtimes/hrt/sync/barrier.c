// SPDX-License-Identifier: Apache-2.0 OR MIT
// Barrier: the two ways to meet. At a station (central; tree: one for each group) a counter collects the
// arrivals and the last opens the next episode; in the dissemination barrier each rank tells one partner per
// round. Who waits spins for a bounded while, then marks the word that it sleeps; who changes a marked word
// wakes.
#include "wait.h"

#define SLEEPER 1u // lowest bit of an episode word

static uint32_t episode_of(uint64_t state) { return (uint32_t)(state >> 32) & ~SLEEPER; }

static void await_station(struct hrt_barrier_station *station, uint32_t episode, unsigned spins) {
    for (;;) {
        uint64_t state = HRT_LOAD(&station->state, HRT_ACQUIRE);
        if (episode_of(state) != episode) {
            return;
        }
        if (spins > 0) {
            spins--;
            HRT_PAUSE();
            continue;
        }
        uint64_t marked = state | (uint64_t)SLEEPER << 32;
        if (state == marked || HRT_CAS(&station->state, &state, marked, HRT_RELAXED)) {
            hrt_wait(hrt_upper_half(&station->state), episode | SLEEPER, HRT_FOREVER, 0);
        }
    }
}

static void open_station(struct hrt_barrier_station *station, uint32_t episode) {
    uint64_t next = (uint64_t)(episode + 2) << 32;
    uint64_t before = HRT_EXCHANGE(&station->state, next, HRT_ACQ_REL);
    if ((before >> 32 & SLEEPER) != 0) {
        hrt_wake(hrt_upper_half(&station->state), HRT_WAKE_ALL, HRT_WAKE_KICK);
    }
}

// The last to arrive at a station goes on to its parent, and opens the station when it comes back: at most
// one recursion for each level of the tree.
static int pass_station(struct hrt_barrier_station *station, unsigned spins) {
    uint64_t before = HRT_FETCH_ADD(&station->state, 1, HRT_ACQ_REL);
    uint32_t episode = episode_of(before);
    int result = HRT_OK;
    if ((uint32_t)before + 1 == station->need) {
        result = station->parent == NULL ? HRT_BARRIER_SERIAL : pass_station(station->parent, spins);
        open_station(station, episode);
    } else {
        await_station(station, episode, spins);
    }
    HRT_FETCH_ADD(&station->left, 1, HRT_RELEASE);
    return result;
}

// Without fixed ranks, a thread that was let go elsewhere may come to a leaf that is full of the episode
// before and not yet open.
static void await_room(struct hrt_barrier_station *leaf, unsigned spins) {
    uint64_t state = HRT_LOAD(&leaf->state, HRT_ACQUIRE);
    if ((uint32_t)state == leaf->need) {
        await_station(leaf, episode_of(state), spins);
    }
}

static bool has_heard(uint32_t heard, uint32_t episode) {
    return (int32_t)((heard & ~SLEEPER) - (episode << 1)) >= 0;
}

// Only ever raises the word: without fixed ranks, a thread of the next episode may be ahead of a slow one
// that had the same rank in this.
static void tell(uint32_t *word, uint32_t episode) {
    uint32_t heard = HRT_LOAD(word, HRT_RELAXED);
    do {
        if (has_heard(heard, episode)) {
            return;
        }
    } while (!HRT_CAS(word, &heard, episode << 1, HRT_ACQ_REL));
    if ((heard & SLEEPER) != 0) {
        hrt_wake(word, HRT_WAKE_ALL, HRT_WAKE_KICK);
    }
}

static void listen(uint32_t *word, uint32_t episode, unsigned spins) {
    for (;;) {
        uint32_t heard = HRT_LOAD(word, HRT_ACQUIRE);
        if (has_heard(heard, episode)) {
            return;
        }
        if (spins > 0) {
            spins--;
            HRT_PAUSE();
            continue;
        }
        uint32_t marked = heard | SLEEPER;
        if (heard == marked || HRT_CAS(word, &heard, marked, HRT_RELAXED)) {
            hrt_wait(word, marked, HRT_FOREVER, 0);
        }
    }
}

static int disseminate(hrt_barrier_t *barrier, uint32_t rank, uint32_t episode, unsigned spins) {
    struct hrt_barrier_rank *me = &barrier->ranks[rank];
    for (uint32_t round = 0; round < barrier->rounds; round++) {
        uint32_t partner = (rank + (1u << round)) % barrier->participants;
        tell(&barrier->ranks[partner].heard[round], episode);
        listen(&me->heard[round], episode, spins);
    }
    HRT_FETCH_ADD(&me->left, 1, HRT_RELEASE);
    return rank == 0 ? HRT_BARRIER_SERIAL : HRT_OK;
}

static int plant_ranks(hrt_barrier_t *barrier) {
    uint64_t bytes = (uint64_t)barrier->participants * sizeof(struct hrt_barrier_rank);
    barrier->ranks = hrt_calls->alloc(bytes, HRT_CACHE_LINE, HRT_ZONE_ANY, 0);
    if (barrier->ranks == NULL) {
        return HRT_ENOMEM;
    }
    __builtin_memset(barrier->ranks, 0, bytes);
    while (1u << barrier->rounds < barrier->participants) {
        barrier->rounds++;
    }
    return HRT_OK;
}

int hrt_barrier_init(hrt_barrier_t *barrier, uint32_t participants, uint32_t algorithm,
                     const uint32_t *cpus) {
    bool has_ranks = algorithm != HRT_BARRIER_CENTRAL;
    if (participants == 0 || algorithm > HRT_BARRIER_TREE ||
        (has_ranks && participants > HRT_BARRIER_RANKS_MAX)) {
        return HRT_EINVAL;
    }
    __builtin_memset(barrier, 0, sizeof *barrier);
    barrier->participants = participants;
    barrier->algorithm = algorithm;
    barrier->root.need = participants;
    int status = HRT_OK;
    if (algorithm == HRT_BARRIER_DISSEMINATION) {
        status = plant_ranks(barrier);
    } else if (algorithm == HRT_BARRIER_TREE) {
        status = hrt_barrier_plant(barrier, cpus);
    }
    if (status == HRT_OK) {
        HRT_STORE(&barrier->magic, HRT_BARRIER_MAGIC, HRT_RELAXED);
    }
    return status;
}

static bool is_station_empty(struct hrt_barrier_station *station) {
    uint64_t state = HRT_LOAD(&station->state, HRT_RELAXED);
    uint32_t entered = (episode_of(state) >> 1) * station->need + (uint32_t)state;
    // The episode has 31 bits, so the product is exact in that many only.
    return ((entered - HRT_LOAD(&station->left, HRT_ACQUIRE)) & 0x7fffffffu) == 0;
}

static bool is_empty(hrt_barrier_t *barrier) {
    bool empty = is_station_empty(&barrier->root);
    for (uint32_t index = 0; barrier->stations != NULL && index < barrier->station_count; index++) {
        empty = empty && is_station_empty(&barrier->stations[index]);
    }
    uint32_t inside = 0;
    if (barrier->ranks != NULL) {
        inside = (uint32_t)HRT_LOAD(&barrier->arrivals, HRT_RELAXED);
        for (uint32_t rank = 0; rank < barrier->participants; rank++) {
            struct hrt_barrier_rank *line = &barrier->ranks[rank];
            inside += HRT_LOAD(&line->episode, HRT_RELAXED) - HRT_LOAD(&line->left, HRT_ACQUIRE);
        }
    }
    return empty && inside == 0;
}

int hrt_barrier_destroy(hrt_barrier_t *barrier) {
    if (HRT_LOAD(&barrier->magic, HRT_RELAXED) != HRT_BARRIER_MAGIC) {
        return HRT_EINVAL;
    }
    if (!is_empty(barrier)) {
        return HRT_EBUSY;
    }
    HRT_STORE(&barrier->magic, HRT_DEAD, HRT_RELAXED);
    if (barrier->ranks != NULL) {
        hrt_calls->free(barrier->ranks);
    }
    if (barrier->stations != NULL) {
        hrt_calls->free(barrier->stations);
    }
    return HRT_OK;
}

int hrt_barrier_wait(hrt_barrier_t *barrier) {
    if (HRT_LOAD(&barrier->magic, HRT_RELAXED) != HRT_BARRIER_MAGIC) {
        return HRT_EINVAL;
    }
    unsigned spins = hrt_spins(barrier->participants);
    if (barrier->algorithm == HRT_BARRIER_CENTRAL) {
        return pass_station(&barrier->root, spins);
    }
    uint64_t arrival = HRT_FETCH_ADD(&barrier->arrivals, 1, HRT_RELAXED);
    uint32_t rank = (uint32_t)(arrival % barrier->participants);
    if (barrier->algorithm == HRT_BARRIER_TREE) {
        struct hrt_barrier_station *leaf = &barrier->stations[barrier->leaves[rank]];
        await_room(leaf, spins);
        return pass_station(leaf, spins);
    }
    return disseminate(barrier, rank, (uint32_t)(arrival / barrier->participants) + 1, spins);
}

int hrt_barrier_wait_rank(hrt_barrier_t *barrier, uint32_t rank) {
    if (HRT_LOAD(&barrier->magic, HRT_RELAXED) != HRT_BARRIER_MAGIC || rank >= barrier->participants) {
        return HRT_EINVAL;
    }
    unsigned spins = hrt_spins(barrier->participants);
    if (barrier->algorithm == HRT_BARRIER_CENTRAL) {
        return pass_station(&barrier->root, spins);
    }
    if (barrier->algorithm == HRT_BARRIER_TREE) {
        return pass_station(&barrier->stations[barrier->leaves[rank]], spins);
    }
    // Only the rank itself writes its episode; destroy reads it.
    uint32_t *own = &barrier->ranks[rank].episode;
    uint32_t episode = HRT_LOAD(own, HRT_RELAXED) + 1;
    HRT_STORE(own, episode, HRT_RELAXED);
    return disseminate(barrier, rank, episode, spins);
}
