// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Fibonacci numbers by tasks, down to a depth.

#include "by_hand.h"

enum { TASK_DEPTH = 8, SERIAL = 20 };

static int32_t number;

static int32_t fib(int32_t n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

static int32_t fib_by_tasks(int32_t n, unsigned depth) {
    if (n < 2 || depth == 0) {
        return fib(n);
    }
    int32_t one, other;
#pragma omp task shared(one)
    one = fib_by_tasks(n - 1, depth - 1);
    other = fib_by_tasks(n - 2, depth - 1);
#pragma omp taskwait
    return one + other;
}

static int32_t work(void) {
    // A number so small is less work than a task.
    if (number < SERIAL) {
        return fib(number);
    }
    int32_t result = 0;
#pragma omp parallel
#pragma omp single
    result = fib_by_tasks(number, TASK_DEPTH);
    return result;
}

static void prepare(size_t size) { number = (int32_t)size; }

static void release(void) {}

BY_HAND_MAIN(prepare, work, release)
