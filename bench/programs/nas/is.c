// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// NAS kernel IS, "integer sort": the ranks of small integer keys. It measures scattered writes to memory and
// no floating-point arithmetic at all.
//
// Ranking is a counting sort. It would count into a table as large as the range of keys, too large for
// caches; so keys first go into buckets by their leading bits, and then each bucket's part of the table is
// small. The rank of a key is looked up in the table: how many keys are less. (Equal keys follow one another
// in any order.)
//
// Timed: ten times, two keys change, all are ranked and five ranks are compared with published ones. Ranking
// is done once before that, to touch all memory.

#include "nas.h"

enum {
    KEYS_LOG2 = NAS_BY_CLASS(16, 20, 23, 25, 27),
    LIMIT_LOG2 = NAS_BY_CLASS(11, 16, 19, 21, 23),
    KEYS = 1 << KEYS_LOG2,
    LIMIT = 1 << LIMIT_LOG2, // keys are less
    BUCKETS_LOG2 = NAS_BY_CLASS(5, 8, 9, 10, 10),
    BUCKETS = 1 << BUCKETS_LOG2,
    BUCKET_SHIFT = LIMIT_LOG2 - BUCKETS_LOG2,
    BUCKET_RANGE = 1 << BUCKET_SHIFT, // values of keys in a bucket
    ROUNDS = 10,
    PROBES = 5, // keys whose ranks are published
    THREADS_MAX = 1024,
};

// In each round, key `index` has the rank `rank` + `drift` * (round + `round_offset`). Changes stay, and each
// round's take away two keys from the middle for one of the least and one of the greatest. So the ranks of
// small keys rise by one a round and those of great keys fall by one.
struct probe {
    uint32_t index;
    int32_t rank;
    int drift;
    int round_offset;
};

#if defined NAS_CLASS_S
static const struct probe probes[PROBES] = {
    {48427, 0, 1, 0}, {17148, 18, 1, 0}, {23627, 346, 1, 0}, {62548, 64917, -1, 0}, {4431, 65463, -1, 0}};
#elif defined NAS_CLASS_W
static const struct probe probes[PROBES] = {{357773, 1249, 1, -2},
                                            {934767, 11698, 1, -2},
                                            {875723, 1039987, -1, 0},
                                            {898999, 1043896, -1, 0},
                                            {404505, 1048018, -1, 0}};
#elif defined NAS_CLASS_A
static const struct probe probes[PROBES] = {{2112377, 104, 1, -1},
                                            {662041, 17523, 1, -1},
                                            {5336171, 123928, 1, -1},
                                            {3642833, 8288932, -1, -1},
                                            {4250760, 8388264, -1, -1}};
#elif defined NAS_CLASS_B
static const struct probe probes[PROBES] = {{41869, 33422937, -1, 0},
                                            {812306, 10244, 1, 0},
                                            {5102857, 59149, 1, 0},
                                            {18232239, 33135281, -1, 0},
                                            {26860214, 99, 1, 0}};
#else
static const struct probe probes[PROBES] = {{44172927, 61147, 1, 0},
                                            {72999161, 882988, 1, 0},
                                            {74326391, 266290, 1, 0},
                                            {129606274, 133997595, -1, 0},
                                            {21736814, 133525895, -1, 0}};
#endif

static uint32_t keys[KEYS];
static uint32_t bucketed[KEYS];               // the keys by bucket
static uint32_t bucket_start[BUCKETS + 1];    // in `bucketed`
static uint32_t rank_of[LIMIT];               // by key: how many keys are less
static uint32_t places[THREADS_MAX][BUCKETS]; // by thread: size, then next place, of its part of a bucket

static uint32_t bucket_of(uint32_t key) { return key >> BUCKET_SHIFT; }

// What follows is called by all threads of a team.

// A key is LIMIT times the mean of four random numbers. All bits of their sum count, and it is exact.
static void generate_keys(void) {
    enum { BLOCK = 1024 };
#pragma omp for schedule(static)
    for (uint32_t block = 0; block < KEYS; block += BLOCK) {
        uint64_t state = nas_random_skip(NAS_RANDOM_SEED, UINT64_C(4) * block);
        for (uint32_t i = block; i < block + BLOCK; i++) {
            uint64_t sum = 0;
            for (int n = 0; n < 4; n++) {
                sum += state = nas_random_step(state);
            }
            keys[i] = (uint32_t)(sum >> (NAS_RANDOM_BITS + 2 - LIMIT_LOG2));
        }
    }
}

// Turns the sizes of all threads' parts of buckets into places: bucket by bucket, thread by thread.
static void assign_places(int threads) {
    uint32_t next = 0;
    for (int b = 0; b < BUCKETS; b++) {
        bucket_start[b] = next;
        for (int t = 0; t < threads; t++) {
            uint32_t size = places[t][b];
            places[t][b] = next;
            next += size;
        }
    }
    bucket_start[BUCKETS] = next;
}

// Both loops have the same schedule, so a thread moves just those keys that it counted.
static void fill_buckets(void) {
    uint32_t *own = places[omp_get_thread_num()];
    memset(own, 0, sizeof places[0]);
#pragma omp for schedule(static)
    for (int i = 0; i < KEYS; i++) {
        own[bucket_of(keys[i])]++;
    }
#pragma omp single
    assign_places(omp_get_num_threads());
#pragma omp for schedule(static)
    for (int i = 0; i < KEYS; i++) {
        bucketed[own[bucket_of(keys[i])]++] = keys[i];
    }
}

static void rank_bucket(int bucket) {
    uint32_t *ranks = &rank_of[bucket << BUCKET_SHIFT];
    memset(ranks, 0, BUCKET_RANGE * sizeof ranks[0]);
    for (uint32_t i = bucket_start[bucket]; i < bucket_start[bucket + 1]; i++) {
        rank_of[bucketed[i]]++;
    }
    uint32_t less = bucket_start[bucket];
    for (int k = 0; k < BUCKET_RANGE; k++) {
        uint32_t equal = ranks[k];
        ranks[k] = less;
        less += equal;
    }
}

// Buckets differ much in size: keys are near the middle of their range.
static void rank_keys(void) {
    fill_buckets();
#pragma omp for schedule(dynamic)
    for (int b = 0; b < BUCKETS; b++) {
        rank_bucket(b);
    }
}

static void change_keys(int round) {
#pragma omp single
    {
        keys[round] = (uint32_t)round;
        keys[round + ROUNDS] = (uint32_t)(LIMIT - round);
    }
}

// How many ranks of probes are wrong. Probes are keys as they were generated: no change hits them.
static int count_wrong_probes(int round) {
    int wrong = 0;
    for (int i = 0; i < PROBES; i++) {
        const struct probe *probe = &probes[i];
        int64_t expected = probe->rank + probe->drift * (round + probe->round_offset);
        wrong += rank_of[keys[probe->index]] != expected;
    }
    return wrong;
}

static int wrong_orders;

// Puts all keys where their ranks say and counts those out of order. Ruins both keys and ranks.
static void verify_order(void) {
#pragma omp for schedule(static)
    for (int i = 0; i < KEYS; i++) {
        keys[i] = UINT32_MAX; // out of order, should no key come here
    }
#pragma omp for schedule(static)
    for (int b = 0; b < BUCKETS; b++) {
        for (uint32_t i = bucket_start[b]; i < bucket_start[b + 1]; i++) {
            keys[rank_of[bucketed[i]]++] = bucketed[i];
        }
    }
#pragma omp for schedule(static) reduction(+ : wrong_orders)
    for (int i = 0; i < KEYS; i++) {
        wrong_orders += keys[i] > (i + 1 < KEYS ? keys[i + 1] : LIMIT - 1);
    }
}

int main(void) {
    char size[64];
    snprintf(size, sizeof size, "2^%d keys less than 2^%d", KEYS_LOG2, LIMIT_LOG2);
    nas_print_title("IS", size);
    if (omp_get_max_threads() > THREADS_MAX) {
        nas_fail("IS: more than %d threads", THREADS_MAX);
    }

    double seconds = 0;
    int wrong_probes = 0;
#pragma omp parallel
    {
        generate_keys();
        rank_keys();
#pragma omp master
        nas_start_clock();
        for (int round = 1; round <= ROUNDS; round++) {
            change_keys(round);
            rank_keys();
#pragma omp master
            wrong_probes += count_wrong_probes(round);
        }
#pragma omp master
        seconds = nas_stop_clock();
#pragma omp barrier // the master reads keys and ranks until here
        verify_order();
    }

    printf("%d of %d ranks wrong, %d of %d keys out of order\n", wrong_probes, ROUNDS * PROBES, wrong_orders,
           KEYS);
    if (wrong_probes != 0 || wrong_orders != 0) {
        nas_fail("IS: keys are not ranked as published");
    }
    nas_report("is", seconds);
    return 0;
}
