// SPDX-License-Identifier: Apache-2.0 OR MIT

#include "nas.h"

#include <math.h>
#include <stdarg.h>

// a^exponent mod 2^46
static uint64_t multiplier_power(uint64_t exponent) {
    uint64_t result = 1;
    for (uint64_t square = NAS_RANDOM_MULTIPLIER; exponent != 0; exponent >>= 1) {
        if (exponent & 1) {
            result = nas_random_multiply(result, square);
        }
        square = nas_random_multiply(square, square);
    }
    return result;
}

uint64_t nas_random_skip(uint64_t state, uint64_t steps) {
    return nas_random_multiply(state, multiplier_power(steps));
}

// Each step depends on the last one, so a single sequence is bound by the latency of multiplication. Hence
// many take turns, each in steps of LANES.
void nas_random_fill(double *numbers, size_t count, uint64_t state) {
    enum { LANES = 32 };
    const uint64_t stride = multiplier_power(LANES);
    uint64_t lanes[LANES];
    for (int l = 0; l < LANES; l++) {
        lanes[l] = state = nas_random_step(state);
    }
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
#pragma omp simd
        for (int l = 0; l < LANES; l++) {
            numbers[i + l] = nas_random_unit(lanes[l]);
            lanes[l] = nas_random_multiply(lanes[l], stride);
        }
    }
    for (int l = 0; i < count; i++, l++) {
        numbers[i] = nas_random_unit(lanes[l]);
    }
}

bool nas_is_close(double value, double published, double tolerance) {
    return fabs(value - published) <= tolerance * fabs(published);
}

void nas_print_title(const char *kernel, const char *size) {
    printf("NAS %s, class " NAS_CLASS_NAME " (%s), %d threads\n", kernel, size, omp_get_max_threads());
    fflush(stdout);
}

static void print_at_once(const char *line) {
    puts(line);
    fflush(stdout);
}

static double clock_start;

void nas_start_clock(void) {
    print_at_once("clock starts");
    clock_start = omp_get_wtime();
}

double nas_stop_clock(void) {
    double seconds = omp_get_wtime() - clock_start;
    print_at_once("clock stops");
    return seconds;
}

void nas_report(const char *kernel, double seconds) {
    printf("verified; %.3f s\n", seconds);
    printf("{\"name\":\"nas.%s." NAS_CLASS_NAME "\",\"unit\":\"ns\",\"cpus\":%d,\"overhead\":0,"
           "\"samples\":[%.0f]}\n",
           kernel, omp_get_max_threads(), seconds * 1e9);
    fflush(stdout);
}

void nas_fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}
