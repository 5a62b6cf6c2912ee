// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Quickhull by tasks. The points outside of a line are kept by their places in the input.

#include "by_hand.h"

enum { SERIAL = 4096 };

static double *xs, *ys;
static size_t count;

struct line {
    uint32_t from, to;
};

struct set {
    uint32_t *points;
    size_t length;
    uint32_t farthest;
};

static double cross(uint32_t p, struct line line) {
    return (xs[line.from] - xs[p]) * (ys[line.to] - ys[p]) - (ys[line.from] - ys[p]) * (xs[line.to] - xs[p]);
}

// Of points, all with NULL, those outside of a line, in order.
static struct set outside_of(const uint32_t *points, size_t length, struct line line) {
    struct set set = {.points = by_hand_memory(length, sizeof *set.points)};
    double most = 0;
    for (size_t i = 0; i < length; i++) {
        uint32_t point = points == NULL ? (uint32_t)i : points[i];
        double height = cross(point, line);
        set.points[set.length] = point;
        set.length += height > 0;
        if (height > most) {
            most = height;
            set.farthest = point;
        }
    }
    return set;
}

static uint32_t weight(uint32_t point) {
    return (uint32_t)(3 * (int32_t)xs[point] + 5 * (int32_t)ys[point] + 1);
}

// The weights of the hull's points from one end of a line to before the other.
static uint32_t side(const uint32_t *points, size_t length, struct line line) {
    struct set outside = outside_of(points, length, line);
    uint32_t sum = 0, other = 0;
    if (outside.length < 2) {
        sum = weight(line.from) + (outside.length == 1 ? weight(outside.points[0]) : 0);
    } else {
        struct line one = {line.from, outside.farthest}, two = {outside.farthest, line.to};
#pragma omp task shared(sum) if (outside.length > SERIAL)
        sum = side(outside.points, outside.length, one);
        other = side(outside.points, outside.length, two);
#pragma omp taskwait
    }
    free(outside.points);
    return sum + other;
}

static int32_t work(void) {
    uint32_t left = 0, right = 0, sum = 0, other = 0;
    for (uint32_t i = 1; i < count; i++) {
        left = xs[i] < xs[left] ? i : left;
        right = xs[i] > xs[right] ? i : right;
    }
#pragma omp parallel if (count > SERIAL)
#pragma omp single
    {
#pragma omp task shared(sum)
        sum = side(NULL, count, (struct line){left, right});
        other = side(NULL, count, (struct line){right, left});
#pragma omp taskwait
    }
    return (int32_t)(sum + other);
}

static void prepare(size_t size) {
    xs = by_hand_memory(size, sizeof *xs);
    ys = by_hand_memory(size, sizeof *ys);
    count = 0;
    for (uint32_t i = 0; i < size; i++) {
        double x = by_hand_scramble(2 * i) - 2097152, y = by_hand_scramble(2 * i + 1) - 2097152;
        if (x * x + y * y < 4.0e12) {
            xs[count] = x;
            ys[count++] = y;
        }
    }
}

static void release(void) {
    free(xs);
    free(ys);
}

BY_HAND_MAIN(prepare, work, release)
