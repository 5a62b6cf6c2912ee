// SPDX-License-Identifier: Apache-2.0 OR MIT
// Counts the ways to put n queens on a board: a task for each place of the first two, any idle CPU takes one.
#include <hadal/hrt.h>
#include <stdio.h>

#define QUEENS 9

struct board {
    unsigned columns, left, right;
};

static long solve(struct board board, int rows) {
    if (rows == 0) {
        return 1;
    }
    long found = 0;
    unsigned all = (1u << QUEENS) - 1;
    for (unsigned free = all & ~(board.columns | board.left | board.right); free; free &= free - 1) {
        unsigned place = free & -free;
        struct board next = {board.columns | place, (board.left | place) << 1, (board.right | place) >> 1};
        found += solve(next, rows - 1);
    }
    return found;
}

static struct board starts[QUEENS * QUEENS];
static hrt_task_t tasks[QUEENS * QUEENS];

static void *count(void *arg) { return (void *)solve(*(struct board *)arg, QUEENS - 2); }

int main(void) {
    int used = 0;
    for (unsigned first = 0; first < QUEENS; first++) {
        for (unsigned second = 0; second < QUEENS; second++) {
            unsigned one = 1u << first, two = 1u << second;
            if (two & (one | one << 1 | one >> 1)) {
                continue;
            }
            starts[used] = (struct board){one | two, (one << 1 | two) << 1, (one >> 1 | two) >> 1};
            hrt_task_submit(&tasks[used], count, &starts[used], HRT_CPU_ANY, HRT_TASK_SIZE_UNKNOWN);
            used++;
        }
    }
    long found = 0;
    for (int i = 0; i < used; i++) {
        void *result;
        hrt_task_wait(&tasks[i], &result); // runs others meanwhile
        found += (long)result;
    }
    printf("%d queens: %ld ways\n", QUEENS, found);
    return 0;
}
