// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// NAS kernel EP, "embarrassingly parallel": pairs of Gaussian deviates by the polar method. It measures
// arithmetic; threads meet only at the end.
//
// Uniform numbers come two at a time as a point (x, y) of the square [-1, 1]^2. A point within the unit
// circle gives the deviates X = x f and Y = y f, where t = x^2 + y^2 and f = sqrt(-2 ln t / t). Results are
// the sums of all X and of all Y, and how many pairs lie in each ring l <= max(|X|, |Y|) < l + 1.
//
// Timed: everything.

#include "nas.h"

#include <math.h>

enum {
    PAIRS_LOG2 = NAS_BY_CLASS(24, 25, 28, 30, 32),
    BLOCK_PAIRS = 1024, // what a thread works on at a time: fits into its innermost cache
    BLOCKS = 1 << (PAIRS_LOG2 - 10),
    RINGS = 10,
};
_Static_assert((uint64_t)BLOCKS *BLOCK_PAIRS == UINT64_C(1) << PAIRS_LOG2, "blocks are all pairs");

static const uint64_t seed = 271828183;
static const double published_sum_x =
    NAS_BY_CLASS(-3.247834652034740e3, -2.863319731645753e3, -4.295875165629892e3, 4.033815542441498e4,
                 4.764367927995374e4);
static const double published_sum_y =
    NAS_BY_CLASS(-6.958407078382297e3, -6.320053679109499e3, -1.580732573678431e4, -2.660669192809235e4,
                 -8.084072988043731e4);
static const double tolerance = 1e-8;

// A thread's block on its way: all uniform numbers, then the points within the circle.
static struct {
    double uniform[2 * BLOCK_PAIRS];
    double x[BLOCK_PAIRS];
    double y[BLOCK_PAIRS];
    double t[BLOCK_PAIRS];
} block;
#pragma omp threadprivate(block)

struct tally {
    double sum_x;
    double sum_y;
    uint64_t rings[RINGS];
};

// Keeps the block's points within the unit circle and returns their number. Without a branch, because nobody
// could predict it; a point that is not kept is overwritten by the next one.
static int keep_inner_points(void) {
    int kept = 0;
    for (int i = 0; i < BLOCK_PAIRS; i++) {
        double x = 2.0 * block.uniform[2 * i] - 1.0;
        double y = 2.0 * block.uniform[2 * i + 1] - 1.0;
        double t = x * x + y * y;
        block.x[kept] = x;
        block.y[kept] = y;
        block.t[kept] = t;
        kept += t <= 1.0;
    }
    return kept;
}

static void add_deviates(int points, struct tally *tally) {
    double sum_x = 0, sum_y = 0;
    for (int i = 0; i < points; i++) {
        double t = block.t[i];
        double factor = sqrt(-2.0 * log(t) / t);
        double x = block.x[i] * factor;
        double y = block.y[i] * factor;
        // Integers, because their maximum takes no branch either.
        int ring_x = (int)fabs(x), ring_y = (int)fabs(y);
        tally->rings[ring_x > ring_y ? ring_x : ring_y]++;
        sum_x += x;
        sum_y += y;
    }
    tally->sum_x += sum_x;
    tally->sum_y += sum_y;
}

static void add_block(int index, struct tally *tally) {
    nas_random_fill(block.uniform, 2 * BLOCK_PAIRS, nas_random_skip(seed, (uint64_t)index * 2 * BLOCK_PAIRS));
    add_deviates(keep_inner_points(), tally);
}

static struct tally run(void) {
    double sum_x = 0, sum_y = 0;
    struct tally total = {0};
#pragma omp parallel reduction(+ : sum_x, sum_y)
    {
        struct tally own = {0};
#pragma omp for schedule(static) nowait
        for (int i = 0; i < BLOCKS; i++) {
            add_block(i, &own);
        }
        sum_x += own.sum_x;
        sum_y += own.sum_y;
#pragma omp critical
        for (int l = 0; l < RINGS; l++) {
            total.rings[l] += own.rings[l];
        }
    }
    total.sum_x = sum_x;
    total.sum_y = sum_y;
    return total;
}

int main(void) {
    char size[32];
    snprintf(size, sizeof size, "2^%d pairs", PAIRS_LOG2);
    nas_print_title("EP", size);

    nas_start_clock();
    struct tally total = run();
    double seconds = nas_stop_clock();

    printf("sums %.15e %.15e\n", total.sum_x, total.sum_y);
    for (int l = 0; l < RINGS; l++) {
        printf("ring %d: %llu pairs\n", l, (unsigned long long)total.rings[l]);
    }
    if (!nas_is_close(total.sum_x, published_sum_x, tolerance) ||
        !nas_is_close(total.sum_y, published_sum_y, tolerance)) {
        nas_fail("EP: published are the sums %.15e %.15e", published_sum_x, published_sum_y);
    }
    nas_report("ep", seconds);
    return 0;
}
