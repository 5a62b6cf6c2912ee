/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Programs by hand in C with OpenMP, beside the same programs in data-parallel languages (../nesl, ../ndpc):
 * same input, same answer, which the harness checks in all of them.
 *
 *   PROGRAM [quick-]path|[quick-]parallel CPUS NAME=SIZE,REPETITIONS,OPERATIONS,SAMPLES,THREADS...
 *
 * A sample is the time of REPETITIONS computations, divided by OPERATIONS. Making the input is outside. The
 * first sample is thrown away.
 */
#ifndef HADAL_BENCH_BY_HAND_H
#define HADAL_BENCH_BY_HAND_H

#include "../bench.h"

#include <omp.h>

#define BY_HAND_NAME_BYTES 64

/* Wraps, as INT of VCODE does. */
static inline int32_t by_hand_scramble(uint32_t i) {
    int32_t x = (int32_t)(i * 1103515245u + 12345u);
    int32_t y = (int32_t)((uint32_t)(x ^ x >> 15) * 1664525u + 1013904223u);
    return (y ^ y >> 13) >> 9 & 4194303;
}

static inline void *by_hand_memory(size_t count, size_t bytes) {
    void *memory = malloc(count == 0 ? 1 : count * bytes);
    if (memory == NULL) {
        bench_fail("no memory for %zu elements", count);
    }
    return memory;
}

static inline int32_t *by_hand_numbers(size_t count) {
    int32_t *numbers = by_hand_memory(count, sizeof *numbers);
#pragma omp parallel for
    for (size_t i = 0; i < count; i++) {
        numbers[i] = by_hand_scramble((uint32_t)i);
    }
    return numbers;
}

/* One number for a sequence, different for another order. */
static inline int32_t by_hand_digest(const int32_t *numbers, size_t count) {
    uint32_t sum = 0;
#pragma omp parallel for reduction(+ : sum) if (count > 10000)
    for (size_t i = 0; i < count; i++) {
        sum += (uint32_t)numbers[i] * (uint32_t)i;
    }
    return (int32_t)sum;
}

struct by_hand_program {
    void (*prepare)(size_t size); /* makes the input */
    int32_t (*work)(void);
    void (*release)(void);
};

/* The address is read anew each time, so that no compiler computes once what is asked for many times. */
static int32_t (*volatile by_hand_work)(void);

static inline int32_t by_hand_again(unsigned repetitions) {
    uint32_t sum = 0;
    for (unsigned i = 0; i < repetitions; i++) {
        sum += (uint32_t)by_hand_work();
    }
    return (int32_t)sum;
}

static inline void by_hand_figure(const struct by_hand_program *program, const char *word) {
    char name[BY_HAND_NAME_BYTES];
    unsigned size, repetitions, operations, samples, threads;
    if (sscanf(word, "%63[^=]=%u,%u,%u,%u,%u", name, &size, &repetitions, &operations, &samples, &threads) !=
        6) {
        bench_fail("%s: not NAME=SIZE,REPETITIONS,OPERATIONS,SAMPLES,THREADS", word);
    }
    omp_set_num_threads((int)threads);
    program->prepare(size);
    by_hand_work = program->work;
    bench_warm_up = 1;
    for (unsigned i = 0; i < samples + bench_warm_up; i++) {
        uint64_t start = bench_ticks();
        int32_t answer = by_hand_again(repetitions);
        bench_sample(bench_ticks() - start, operations);
        if (i > 0 && answer != bench_answer.value) {
            bench_fail("%s: the answer was %d and is %d", name, bench_answer.value, answer);
        }
        bench_answer = (struct bench_answer){.is_known = true, .value = answer};
    }
    bench_report(name);
    program->release();
}

static inline int by_hand_main(int argc, char **argv, const struct by_hand_program *program) {
    bench_start(argc, argv);
    for (int i = 3; i < argc; i++) {
        by_hand_figure(program, argv[i]);
    }
    return 0;
}

#define BY_HAND_MAIN(prepare, work, release)                                                                 \
    int main(int argc, char **argv) {                                                                        \
        static const struct by_hand_program program = {prepare, work, release};                              \
        return by_hand_main(argc, argv, &program);                                                           \
    }

#endif
