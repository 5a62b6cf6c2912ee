// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Loop nests with cross-iteration dependences.

#include "../common/check.h"

#include <omp.h>

enum { ROWS = 30, COLUMNS = 25 };

static int cells[ROWS][COLUMNS];

static void fill(int i, int j) {
    int above = i > 0 ? cells[i - 1][j] : 1, before = j > 0 ? cells[i][j - 1] : 1;
    CHECK(above != 0 && before != 0);
    cells[i][j] = (above + before) % 10007 + 1;
}

static long check(void) {
    long sum = 0;
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            sum = (sum * 31 + cells[i][j]) % 1000003;
            cells[i][j] = 0;
        }
    }
    return sum;
}

static void nest(void) {
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            fill(i, j);
        }
    }
    long expected = check();
    for (int round = 0; round < 10; round++) {
#pragma omp parallel
        {
#pragma omp for ordered(2) schedule(static, 1)
            for (int i = 0; i < ROWS; i++) {
                for (int j = 0; j < COLUMNS; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
                    fill(i, j);
#pragma omp ordered depend(source)
                }
            }
#pragma omp single
            CHECK_EQUAL(check(), expected);
#pragma omp for ordered(2) schedule(dynamic)
            for (int i = 3; i < 3 + 2 * ROWS; i += 2) {
                for (int j = COLUMNS; j > 0; j--) {
#pragma omp ordered depend(sink : i - 2, j) depend(sink : i, j + 1) depend(sink : i - 2, j - 1)
                    fill((i - 3) / 2, COLUMNS - j);
#pragma omp ordered depend(source)
                }
            }
#pragma omp single
            CHECK_EQUAL(check(), expected);
        }
    }
}

// One after the other with nowait: the nests overlap.
static void ahead(void) {
    static int chain[20][64];
#pragma omp parallel
    for (int loop = 0; loop < 20; loop++) {
#pragma omp for ordered(1) schedule(static, 2) nowait
        for (int i = 0; i < 64; i++) {
#pragma omp ordered depend(sink : i - 1)
            chain[loop][i] = i == 0 ? 1 : chain[loop][i - 1] + 1;
#pragma omp ordered depend(source)
        }
    }
    for (int loop = 0; loop < 20; loop++) {
        CHECK_EQUAL(chain[loop][63], 64);
    }
}

int main(int argc, char **argv) {
    static const struct part parts[] = {{"nest", nest}, {"ahead", ahead}};
    return run_parts(parts, sizeof parts / sizeof parts[0], argc, argv);
}
