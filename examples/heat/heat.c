// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The temperature of a square plate, by Jacobi iteration with OpenMP.
//
// The left edge is kept hot and the other edges cold. Each step replaces every inner point by the mean of
// its four neighbours. All threads share the rows of the plate; the largest change of the last step is a
// reduction. The result does not depend on the number of threads.
//
//   heat [SIZE [STEPS]]      points along an edge, steps of the iteration (default 256 and 2000)

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEFAULT_SIZE = 256, DEFAULT_STEPS = 2000, MIN_SIZE = 3, MAX_SIZE = 16384, PICTURE_COLUMNS = 48 };

static const double HOT = 100.0;

// One row-major square field of `size` x `size` temperatures, with its edges set.
static double *new_field(int size) {
    double *field = malloc((size_t)size * (size_t)size * sizeof *field);
    if (field == NULL) {
        fprintf(stderr, "heat: not enough memory for a plate of %d x %d points\n", size, size);
        exit(1);
    }
    // The same schedule as in step(): each thread touches first the rows that it will work on.
#pragma omp parallel for schedule(static)
    for (int row = 0; row < size; row++) {
        for (int column = 0; column < size; column++) {
            field[(size_t)row * (size_t)size + (size_t)column] = column == 0 ? HOT : 0.0;
        }
    }
    return field;
}

// One Jacobi step; returns the largest change of any point.
static double step(int size, const double *restrict from, double *restrict to) {
    double largest = 0.0;
#pragma omp parallel for schedule(static) reduction(max : largest)
    for (int row = 1; row < size - 1; row++) {
        const double *above = from + (size_t)(row - 1) * (size_t)size;
        const double *here = above + size;
        const double *below = here + size;
        double *out = to + (size_t)row * (size_t)size;
        for (int column = 1; column < size - 1; column++) {
            double value = 0.25 * (above[column] + below[column] + here[column - 1] + here[column + 1]);
            double change = fabs(value - here[column]);
            largest = change > largest ? change : largest;
            out[column] = value;
        }
    }
    return largest;
}

// The sum of all temperatures, added row by row in a fixed order, so that it is the same for any team.
static double total(int size, const double *field) {
    double *row_sums = calloc((size_t)size, sizeof *row_sums);
    if (row_sums == NULL) {
        fprintf(stderr, "heat: not enough memory for %d row sums\n", size);
        exit(1);
    }
#pragma omp parallel for schedule(static)
    for (int row = 0; row < size; row++) {
        double sum = 0.0;
        for (int column = 0; column < size; column++) {
            sum += field[(size_t)row * (size_t)size + (size_t)column];
        }
        row_sums[row] = sum;
    }
    double sum = 0.0;
    for (int row = 0; row < size; row++) {
        sum += row_sums[row];
    }
    free(row_sums);
    return sum;
}

// A character per cell, from cold to hot on a scale where each sign stands for half the one after it.
static void draw(int size, const double *field) {
    static const char shades[] = " .:-=+*#%@";
    int columns = size < PICTURE_COLUMNS ? size : PICTURE_COLUMNS;
    int rows = (columns + 1) / 2;
    for (int y = 0; y < rows; y++) {
        char line[PICTURE_COLUMNS + 1];
        for (int x = 0; x < columns; x++) {
            size_t row = (size_t)y * (size_t)size / (size_t)rows;
            size_t column = (size_t)x * (size_t)size / (size_t)columns;
            double value = field[row * (size_t)size + column];
            int shade = (int)sizeof shades - 2;
            for (double limit = HOT / 1.5; shade > 0 && value < limit; limit /= 1.8) {
                shade--;
            }
            line[x] = shades[shade];
        }
        line[columns] = '\0';
        printf("|%s|\n", line);
    }
}

static int parse(const char *text, const char *what, int least, int most) {
    char *end = NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < least || value > most) {
        fprintf(stderr, "heat: %s must be a number from %d to %d, not \"%s\"\n", what, least, most, text);
        exit(2);
    }
    return (int)value;
}

int main(int argc, char **argv) {
    if (argc > 3) {
        fprintf(stderr, "usage: heat [SIZE [STEPS]]\n");
        return 2;
    }
    int size = argc > 1 ? parse(argv[1], "SIZE", MIN_SIZE, MAX_SIZE) : DEFAULT_SIZE;
    int steps = argc > 2 ? parse(argv[2], "STEPS", 1, 100000000) : DEFAULT_STEPS;

    double *now = new_field(size);
    double *next = new_field(size);

    double change = 0.0;
    double start = omp_get_wtime();
    for (int i = 0; i < steps; i++) {
        change = step(size, now, next);
        double *swap = now;
        now = next;
        next = swap;
    }
    double seconds = omp_get_wtime() - start;

    draw(size, now);
    printf("plate          %d x %d points\n", size, size);
    printf("threads        %d\n", omp_get_max_threads());
    printf("steps          %d\n", steps);
    printf("last change    %.9f\n", change);
    printf("mean           %.9f\n", total(size, now) / ((double)size * (double)size));
    printf("time           %.3f s\n", seconds);

    free(now);
    free(next);
    return 0;
}
