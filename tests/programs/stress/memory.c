// SPDX-License-Identifier: Apache-2.0 OR MIT
// Memory by zone, passed on between threads and freed by strangers, and what programs use of libc.
#include "stress.h"

#include <pthread.h>

// --- hrt_alloc

#define SHELVES 64u

// Each holds a block that whoever takes it checks and frees.
struct block {
    uint64_t bytes, seed;
    int32_t zone; // that it must be from, or -1
    unsigned char filled[];
};

static struct block *shelves[SHELVES];

static void check_and_free(struct block *block) {
    if (block == NULL) {
        return;
    }
    struct dice dice = {block->seed};
    uint64_t rest = block->bytes - sizeof *block;
    unsigned char pattern = (unsigned char)roll(&dice);
    for (uint64_t i = 0; i < rest; i += 1 + i / 64) {
        CHECK_EQUAL(block->filled[i], (unsigned char)(pattern + i));
    }
    CHECK(hrt_usable_bytes(block) >= block->bytes);
    CHECK(block->zone < 0 || hrt_zone_of(block) == block->zone);
    CHECK_EQUAL(hrt_free(block), HRT_OK);
}

static struct block *allocated(struct dice *dice) {
    uint64_t bytes = sizeof(struct block) + (roll(dice) % (256u << 10) >> below(dice, 14));
    uint64_t align = 16u << below(dice, 9);
    int32_t zone = (int32_t)below(dice, hrt_zone_count());
    uint32_t flags = one_in(dice, 2) ? HRT_ALLOC_ZERO : 0;
    bool strict = one_in(dice, 3);
    if (strict) {
        flags |= HRT_ALLOC_STRICT;
    } else if (one_in(dice, 3)) {
        flags |= HRT_ALLOC_INTERLEAVE;
    } else if (one_in(dice, 2)) {
        zone = HRT_ZONE_ANY;
    }
    if (one_in(dice, 200)) {
        flags |= HRT_ALLOC_HUGE;
    }
    struct block *block = hrt_alloc_aligned(bytes, align, zone, flags);
    if (block == NULL) {
        CHECK(strict || (flags & HRT_ALLOC_HUGE) != 0); // else there is memory enough
        return NULL;
    }
    CHECK_EQUAL((uintptr_t)block % align, 0);
    if ((flags & HRT_ALLOC_ZERO) != 0) {
        for (uint64_t i = 0; i < bytes; i += 1 + i / 64) {
            CHECK_EQUAL(((unsigned char *)block)[i], 0);
        }
    }
    *block = (struct block){.bytes = bytes, .seed = roll(dice), .zone = strict ? zone : -1};
    struct dice own = {block->seed};
    unsigned char pattern = (unsigned char)roll(&own);
    for (uint64_t i = 0; i < bytes - sizeof *block; i++) {
        block->filled[i] = (unsigned char)(pattern + i);
    }
    return block;
}

void memory_round(struct worker *worker) {
    uint32_t turns = 1 + below(&worker->dice, 40);
    for (uint32_t turn = 0; turn < turns; turn++) {
        STEP(worker);
        struct block *block = one_in(&worker->dice, 8) ? NULL : allocated(&worker->dice);
        struct block **shelf = &shelves[below(&worker->dice, SHELVES)];
        check_and_free(__atomic_exchange_n(shelf, block, __ATOMIC_ACQ_REL));
    }
    struct hrt_zone_info info;
    CHECK_EQUAL(hrt_zone_info(below(&worker->dice, hrt_zone_count()), &info), HRT_OK);
    CHECK(info.free_bytes <= info.total_bytes);
    CHECK_EQUAL(hrt_free(worker), HRT_EINVAL);
    did(worker, turns);
}

void memory_finish(void) {
    for (uint32_t i = 0; i < SHELVES; i++) {
        check_and_free(shelves[i]);
    }
}

// --- libc

static int compare(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static void sort_some(struct dice *dice) {
    uint32_t count = 1 + below(dice, 500);
    uint32_t *numbers = malloc(count * sizeof *numbers);
    uint64_t before = 0, after = 0;
    CHECK(numbers != NULL);
    for (uint32_t i = 0; i < count; i++) {
        before += numbers[i] = (uint32_t)roll(dice);
    }
    qsort(numbers, count, sizeof *numbers, compare);
    for (uint32_t i = 0; i < count; i++) {
        after += numbers[i];
        CHECK(i == 0 || numbers[i - 1] <= numbers[i]);
    }
    CHECK_EQUAL(before, after);
    numbers = realloc(numbers, 2 * count * sizeof *numbers);
    CHECK(numbers != NULL);
    free(numbers);
}

static void print_some(struct dice *dice) {
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    CHECK(stream != NULL);
    double value = (double)below(dice, 1000000) / 64;
    for (int i = 0; i < 20; i++) {
        CHECK(fprintf(stream, "%.6f ", value + i) > 0);
    }
    CHECK_EQUAL(fclose(stream), 0);
    char *rest = text;
    for (int i = 0; i < 20; i++) {
        CHECK(strtod(rest, &rest) == value + i);
    }
    free(text);
}

static void write_file(struct dice *dice) {
    FILE *file = tmpfile();
    uint64_t sent[64], back[64];
    CHECK(file != NULL);
    for (uint32_t i = 0; i < 64; i++) {
        sent[i] = roll(dice);
    }
    CHECK_EQUAL(fwrite(sent, sizeof *sent, 64, file), 64);
    rewind(file);
    CHECK_EQUAL(fread(back, sizeof *back, 64, file), 64);
    CHECK_EQUAL(memcmp(sent, back, sizeof sent), 0);
    CHECK_EQUAL(fclose(file), 0);
}

static void *passes_on(void *arg) { return arg; }

// A thread of the C library may use everything, too.
static void *stranger(void *arg) {
    struct dice dice = *(struct dice *)arg;
    uint32_t never = 0;
    uint64_t deadline = soon(&dice);
    int status = hrt_wait(&never, 0, deadline, 0);
    CHECK(status != HRT_ETIMEDOUT || hrt_now_ns() >= deadline);
    CHECK(joined(started(passes_on, arg, HRT_CPU_ANY)) == arg);
    return arg;
}

void libc_round(struct worker *worker) {
    struct dice *dice = &worker->dice;
    STEP(worker);
    switch (below(dice, 8)) {
    case 0:
        write_file(dice);
        break;
    case 1:;
        pthread_t thread;
        void *result;
        CHECK_EQUAL(pthread_create(&thread, NULL, stranger, dice), 0);
        CHECK_EQUAL(pthread_join(thread, &result), 0);
        CHECK(result == dice);
        break;
    case 2:
    case 3:
        print_some(dice);
        break;
    default:
        sort_some(dice);
    }
    did(worker, 1);
}
