// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What ordinary programs do for most of their time: call functions, take and give back memory, touch new
// memory, work on text. NAME runs with a thread on each CPU, every one of which does the same; NAME_1 with
// one thread on the same machine. Each checks its result. A figure is the time until all have ended, their
// creation included.

#include "bench.h"

#include <sys/mman.h>

enum { RUNS = 9, NAME_BYTES = 64 };

static void measure(const char *name, unsigned members, void (*work)(unsigned member, void *arg)) {
    bench_warm_up = 2;
    for (unsigned i = 0; i < bench_rounds(RUNS); i++) {
        uint64_t start = bench_now_ns();
        bench_run_team(members, work, NULL);
        bench_sample_raw((double)(bench_now_ns() - start), 1);
    }
    bench_report_ns(name);
}

static void with_all_and_one(const char *name, void (*work)(unsigned member, void *arg)) {
    measure(name, bench.cpus, work);
    char one[NAME_BYTES];
    snprintf(one, sizeof one, "%s_1", name);
    measure(one, 1, work);
}

static uint32_t next_random(uint32_t number) { return number * 1664525u + 1013904223u; }

/* --- calls: Fibonacci numbers by recursion -------------------------------------------------------------- */

enum { FIB = 31, FIB_RESULT = 1346269 };

static unsigned fib_of(unsigned n) { return n < 2 ? n : fib_of(n - 1) + fib_of(n - 2); }

static void fib(unsigned member, void *arg) {
    (void)arg;
    if (fib_of(FIB) != FIB_RESULT) {
        bench_fail("member %u: wrong Fibonacci number", member);
    }
}

/* --- small memory: blocks of 16 bytes to 1 KiB, in no order --------------------------------------------- */

enum { BLOCKS = 1024, TURNS = 100000, SMALLEST = 16, LARGEST = 1024 };

struct block {
    unsigned char *memory;
    size_t bytes;
};

static void free_block(struct block *block, unsigned member) {
    if (block->memory == NULL) {
        return;
    }
    if (block->memory[0] != (unsigned char)block->bytes || block->memory[block->bytes - 1] != member) {
        bench_fail("member %u: a block of %zu bytes has been written to", member, block->bytes);
    }
    free(block->memory);
    block->memory = NULL;
}

static void small_blocks(unsigned member, void *arg) {
    (void)arg;
    struct block blocks[BLOCKS] = {{NULL, 0}};
    uint32_t random = member + 1;
    for (unsigned turn = 0; turn < TURNS; turn++) {
        random = next_random(random);
        struct block *block = &blocks[random >> 22];
        free_block(block, member);
        block->bytes = SMALLEST + (random >> 8) % (LARGEST - SMALLEST + 1);
        block->memory = malloc(block->bytes);
        if (block->memory == NULL) {
            bench_fail("no memory for %zu bytes", block->bytes);
        }
        block->memory[0] = (unsigned char)block->bytes;
        block->memory[block->bytes - 1] = (unsigned char)member;
    }
    for (unsigned i = 0; i < BLOCKS; i++) {
        free_block(&blocks[i], member);
    }
}

/* --- new memory: mapped, touched once, unmapped ----------------------------------------------------------
 */

enum { TOUCHED_BYTES = 32 << 20, PAGE_BYTES = 4096 };

static void first_touch(unsigned member, void *arg) {
    (void)arg;
    unsigned char *memory =
        mmap(NULL, TOUCHED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        bench_fail("member %u: no memory to touch", member);
    }
    unsigned sum = 0;
    for (size_t at = 0; at < TOUCHED_BYTES; at += PAGE_BYTES) {
        sum += memory[at]++;
    }
    if (sum != 0) {
        bench_fail("member %u: new memory is not zero", member);
    }
    BENCH_EXPECT(munmap(memory, TOUCHED_BYTES), 0);
}

/* --- text: lines are written, sorted, and their words counted ------------------------------------------- */

enum { LINES = 4000, LINE_BYTES = 48, WORDS = 500, BUCKETS = 256 };

struct word {
    struct word *next;
    unsigned count;
    char text[];
};

static int compare_lines(const void *left, const void *right) {
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void count_word(struct word **buckets, const char *text) {
    unsigned hash = 0;
    for (const char *at = text; *at != '\0'; at++) {
        hash = hash * 31 + (unsigned char)*at;
    }
    struct word **link = &buckets[hash % BUCKETS];
    while (*link != NULL && strcmp((*link)->text, text) != 0) {
        link = &(*link)->next;
    }
    if (*link == NULL) {
        size_t bytes = strlen(text) + 1;
        *link = malloc(sizeof **link + bytes);
        if (*link == NULL) {
            bench_fail("no memory for a word");
        }
        (*link)->next = NULL;
        (*link)->count = 0;
        memcpy((*link)->text, text, bytes);
    }
    (*link)->count++;
}

static unsigned free_words(struct word **buckets) {
    unsigned counted = 0;
    for (unsigned i = 0; i < BUCKETS; i++) {
        while (buckets[i] != NULL) {
            struct word *word = buckets[i];
            buckets[i] = word->next;
            counted += word->count;
            free(word);
        }
    }
    return counted;
}

static void text(unsigned member, void *arg) {
    (void)arg;
    char *lines[LINES];
    struct word *buckets[BUCKETS] = {NULL};
    uint32_t random = member + 1;
    for (unsigned i = 0; i < LINES; i++) {
        random = next_random(random);
        char line[LINE_BYTES];
        snprintf(line, sizeof line, "%08x word%u word%u", random, (random >> 8) % WORDS,
                 (random >> 4) % WORDS);
        lines[i] = strdup(line);
        if (lines[i] == NULL) {
            bench_fail("no memory for a line");
        }
    }
    qsort(lines, LINES, sizeof lines[0], compare_lines);
    for (unsigned i = 0; i < LINES; i++) {
        if (i > 0 && strcmp(lines[i - 1], lines[i]) > 0) {
            bench_fail("member %u: lines are not in order", member);
        }
        char *rest = NULL;
        strtok_r(lines[i], " ", &rest);
        for (char *word; (word = strtok_r(NULL, " ", &rest)) != NULL;) {
            count_word(buckets, word);
        }
    }
    for (unsigned i = 0; i < LINES; i++) {
        free(lines[i]);
    }
    if (free_words(buckets) != 2 * LINES) {
        bench_fail("member %u: words are missing", member);
    }
}

static void measure_fib(const char *name) { with_all_and_one(name, fib); }
static void measure_malloc(const char *name) { with_all_and_one(name, small_blocks); }
static void measure_first_touch(const char *name) { with_all_and_one(name, first_touch); }
static void measure_text(const char *name) { with_all_and_one(name, text); }

static const struct bench_figure figures[] = {
    {"apps.fib", measure_fib},
    {"apps.malloc", measure_malloc},
    {"apps.first_touch", measure_first_touch},
    {"apps.text", measure_text},
};

BENCH_MAIN(figures)
