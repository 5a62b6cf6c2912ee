// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What the programs of NAS share: the choice of a class, the random numbers, the clock and the result.
//
// The benchmarks are those of The NAS Parallel Benchmarks (NAS reports RNR-94-007 and NAS-99-011). The code
// is new; what it shares with NASA's programs is algorithms, sizes and the published values for verification.
//
//   gcc -std=c11 -O2 -fopenmp -DNAS_CLASS_S ep.c nas.c -lm
//   OMP_NUM_THREADS=4 ./a.out
//
// A kernel prints lines for people and, once its result is verified, the line of JSON of ../bench.h's
// protocol. If the result is wrong, it exits with status 1 and there is no such line.

#ifndef HADAL_NAS_H
#define HADAL_NAS_H

#include <omp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// One parameter of a kernel: its values for the classes in order of size.
#if defined NAS_CLASS_S
#define NAS_CLASS_NAME "S"
#define NAS_BY_CLASS(s, w, a, b, c) s
#elif defined NAS_CLASS_W
#define NAS_CLASS_NAME "W"
#define NAS_BY_CLASS(s, w, a, b, c) w
#elif defined NAS_CLASS_A
#define NAS_CLASS_NAME "A"
#define NAS_BY_CLASS(s, w, a, b, c) a
#elif defined NAS_CLASS_B
#define NAS_CLASS_NAME "B"
#define NAS_BY_CLASS(s, w, a, b, c) b
#elif defined NAS_CLASS_C
#define NAS_CLASS_NAME "C"
#define NAS_BY_CLASS(s, w, a, b, c) c
#else
#error "choose a class: -DNAS_CLASS_S, _W, _A, _B or _C"
#endif

// The specification's random numbers: x' = a x mod 2^46, and x 2^-46 is uniform in (0, 1). The state before a
// sequence is its seed; the first number comes from the first step.
#define NAS_RANDOM_BITS 46
#define NAS_RANDOM_MASK ((UINT64_C(1) << NAS_RANDOM_BITS) - 1)
#define NAS_RANDOM_MULTIPLIER UINT64_C(1220703125) // 5^13
#define NAS_RANDOM_SEED UINT64_C(314159265)        // of all kernels but EP

// 2^46 divides 2^64, so the product may overflow.
static inline uint64_t nas_random_multiply(uint64_t a, uint64_t b) { return (a * b) & NAS_RANDOM_MASK; }

static inline uint64_t nas_random_step(uint64_t state) {
    return nas_random_multiply(state, NAS_RANDOM_MULTIPLIER);
}

// The number that a state stands for, exactly: the state becomes the mantissa of a double in [1, 2). Unlike a
// conversion from integers this is vectorisable without AVX-512.
static inline double nas_random_unit(uint64_t state) {
    const uint64_t one = UINT64_C(0x3ff) << 52;
    uint64_t bits = one | state << (52 - NAS_RANDOM_BITS);
    double number;
    memcpy(&number, &bits, sizeof number);
    return number - 1.0;
}

static inline double nas_random_next(uint64_t *state) {
    *state = nas_random_step(*state);
    return nas_random_unit(*state);
}

// The state `steps` steps after `state`, in time logarithmic in `steps`: where a thread's part begins.
uint64_t nas_random_skip(uint64_t state, uint64_t steps);

// The next `count` numbers after `state`.
void nas_random_fill(double *numbers, size_t count, uint64_t state);

// Whether a value is within a relative tolerance of the published one. False for NaN.
bool nas_is_close(double value, double published, double tolerance);

// The first line of output: "NAS EP, class S (2^24 pairs), 2 threads".
void nas_print_title(const char *kernel, const char *size);

// The timed part is between these two, which one thread calls. Each prints a line, outside of the timed part:
// to `hadal bench run --slices` it says when that is, whose time it takes by the host's clock.
void nas_start_clock(void);
double nas_stop_clock(void); // in seconds

// Ends a verified run: prints the time of the timed part. The kernel's name is in small letters.
void nas_report(const char *kernel, double seconds);

// Ends the program because a result is wrong.
__attribute__((noreturn, format(printf, 1, 2))) void nas_fail(const char *format, ...);

#endif
