// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// critical, atomic regions, copyprivate, sections, masked, nested regions, doacross loops.

#include "../common/check.h"

#include <complex.h>
#include <omp.h>

static int threads;

static void exclusion(void) {
    long unnamed = 0, named = 0, other = 0;
    long double large = 0;
    double _Complex complex_sum = 0;
    struct {
        char pad;
        long value;
    } __attribute__((packed)) packed = {0, 0};
#pragma omp parallel num_threads(threads) reduction(+ : complex_sum)
    for (int i = 0; i < 300; i++) {
        complex_sum += 1 + I;
#pragma omp critical
        unnamed++;
#pragma omp critical(one)
        {
            named++;
#pragma omp critical(two) hint(omp_sync_hint_contended)
            other++;
        }
#pragma omp atomic
        large += 1;
#pragma omp atomic
        packed.value++;
    }
    CHECK_EQUAL(unnamed, 300 * threads);
    CHECK_EQUAL(named, 300 * threads);
    CHECK_EQUAL(other, 300 * threads);
    CHECK(large == 300 * threads && complex_sum == 300.0 * threads * (1 + I));
    CHECK_EQUAL(packed.value, 300 * threads);
}

static void copies(void) {
    int singles = 0;
#pragma omp parallel num_threads(threads) reduction(+ : singles)
    for (int round = 0; round < 50; round++) {
        int value = -1;
        double more[3] = {0};
#pragma omp single copyprivate(value, more)
        {
            value = round;
            more[2] = round + 0.5;
            singles++;
        }
        CHECK_EQUAL(value, round);
        CHECK(more[2] == round + 0.5);
#pragma omp single
        singles++;
#pragma omp masked filter(round % threads)
        {
            CHECK_EQUAL(omp_get_thread_num(), round % threads);
            singles++;
        }
    }
    CHECK_EQUAL(singles, 150);
}

static void sections(void) {
    int ran[4] = {0}, last = 0;
#pragma omp parallel sections num_threads(threads) lastprivate(last)
    {
#pragma omp section
        {
#pragma omp atomic
            ran[0]++;
            last = 1;
        }
#pragma omp section
        {
#pragma omp atomic
            ran[1]++;
            last = 2;
        }
#pragma omp section
        {
#pragma omp atomic
            ran[2]++;
            last = 3;
        }
    }
    CHECK(ran[0] == 1 && ran[1] == 1 && ran[2] == 1 && last == 3);
#pragma omp parallel num_threads(threads)
#pragma omp sections
    {
#pragma omp section
        ran[0]++;
#pragma omp section
        ran[1]++;
    }
    CHECK(ran[0] == 2 && ran[1] == 2);
}

// Each cell depends on those left of it and above it.
#define DOACROSS(TYPE, ...)                                                                                  \
    do {                                                                                                     \
        memset(grid, 0, sizeof grid);                                                                        \
        _Pragma("omp parallel num_threads(threads)")                                                         \
        DO_PRAGMA(omp for collapse(2) ordered(2) __VA_ARGS__)                                                \
        for (TYPE i = 1; i < ROWS; i++) {                                                                    \
            for (TYPE j = 1; j < COLUMNS; j++) {                                                             \
                _Pragma("omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)")                       \
                    CHECK(i == 1 || grid[i - 1][j] > 0);                                                     \
                CHECK(j == 1 || grid[i][j - 1] > 0);                                                         \
                grid[i][j] = 1 + grid[i - 1][j] % 1000 + grid[i][j - 1] % 1000;                              \
                _Pragma("omp ordered depend(source)")                                                        \
            }                                                                                                \
        }                                                                                                    \
        check_grid();                                                                                        \
    } while (0)
// Downwards: gcc 12 waits for the wrong iterations where the type is unsigned.
#define DOACROSS_DOWN(TYPE, ...)                                                                             \
    do {                                                                                                     \
        memset(grid, 0, sizeof grid);                                                                        \
        DO_PRAGMA(omp parallel for ordered(2) num_threads(threads) __VA_ARGS__)                              \
        for (TYPE i = ROWS - 1; i >= 1; i--) {                                                               \
            for (TYPE j = 1; j < COLUMNS; j++) {                                                             \
                int up = ROWS - (int)i;                                                                      \
                _Pragma("omp ordered depend(sink : i + 1, j) depend(sink : i, j - 1)") grid[up][j] =         \
                    1 + grid[up - 1][j] % 1000 + grid[up][j - 1] % 1000;                                     \
                _Pragma("omp ordered depend(source)")                                                        \
            }                                                                                                \
        }                                                                                                    \
        check_grid();                                                                                        \
    } while (0)
#define DO_PRAGMA(...) _Pragma(#__VA_ARGS__)

enum { ROWS = 20, COLUMNS = 15 };
static int grid[ROWS][COLUMNS];

static void check_grid(void) {
    static int expected[ROWS][COLUMNS];
    for (int i = 1; i < ROWS; i++) {
        for (int j = 1; j < COLUMNS; j++) {
            expected[i][j] = 1 + expected[i - 1][j] % 1000 + expected[i][j - 1] % 1000;
            CHECK_EQUAL(grid[i][j], expected[i][j]);
        }
    }
}

static void doacross(void) {
    DOACROSS(int, schedule(static));
    DOACROSS_DOWN(int, schedule(static));
    DOACROSS(int, schedule(static, 1));
    DOACROSS_DOWN(int, schedule(static, 1));
    DOACROSS(long, schedule(dynamic));
    DOACROSS_DOWN(long, schedule(dynamic));
    DOACROSS(int, schedule(guided, 2));
    DOACROSS_DOWN(int, schedule(guided, 2));
    DOACROSS(int, schedule(runtime));
    DOACROSS_DOWN(int, schedule(runtime));
    DOACROSS(unsigned long, schedule(static));
    DOACROSS(unsigned long, schedule(static, 1));
    DOACROSS(unsigned long, schedule(dynamic, 3));
    DOACROSS(unsigned long, schedule(guided));
    DOACROSS(unsigned long, schedule(runtime));
    long chain[50] = {0};
#pragma omp parallel for ordered(1) schedule(static, 1) num_threads(threads)
    for (int i = 0; i < 50; i++) {
#pragma omp ordered depend(sink : i - 1) depend(sink : i - 7)
        chain[i] = (i > 0 ? chain[i - 1] : 0) + 1;
#pragma omp ordered depend(source)
    }
    CHECK_EQUAL(chain[49], 50);
}

// Inner teams, of one member and of several.
static void nested(void) {
    int count = 0;
    omp_set_max_active_levels(3);
#pragma omp parallel num_threads(threads)
    {
        int outer = omp_get_thread_num();
#pragma omp parallel num_threads(3)
        {
            CHECK_EQUAL(omp_get_num_threads(), 3);
            CHECK_EQUAL(omp_get_level(), 2);
            CHECK_EQUAL(omp_get_ancestor_thread_num(1), outer);
#pragma omp barrier
#pragma omp parallel if (0)
            {
                CHECK_EQUAL(omp_get_num_threads(), 1);
                CHECK_EQUAL(omp_get_level(), 3);
                CHECK_EQUAL(omp_get_ancestor_thread_num(1), outer);
#pragma omp barrier
#pragma omp single
#pragma omp atomic
                count++;
            }
        }
    }
    CHECK_EQUAL(count, 3 * threads);
    omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
    {
#pragma omp parallel num_threads(2)
        CHECK_EQUAL(omp_get_num_threads(), 1);
    }
#pragma omp parallel num_threads(threads) proc_bind(spread)
#pragma omp single
    CHECK_EQUAL(omp_get_num_threads(), threads);
}

int main(void) {
    for (threads = 1; threads <= 8; threads *= 2) {
        exclusion();
        copies();
        sections();
        doacross();
        nested();
    }
    printf("sync ok\n");
    return 0;
}
