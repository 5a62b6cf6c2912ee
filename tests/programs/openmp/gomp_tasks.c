// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Tasks: data of all sizes, if, final, priorities, dependences of every kind, detached tasks, taskloops.

#include "../common/check.h"

#include <omp.h>
#include <stdint.h>

static int threads;

static long fib(int n) {
    long left, right;
    if (n < 2) {
        return n;
    }
#pragma omp task shared(left) firstprivate(n) final(n < 6) mergeable
    left = fib(n - 1);
#pragma omp task shared(right) firstprivate(n) untied if (n > 4)
    right = fib(n - 2);
#pragma omp taskwait
    return left + right;
}

struct aligned {
    _Alignas(256) char bytes[300];
};

// Arrays of a length known at run time are copied by a function of the compiler.
static void data(int len) {
    long sum = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (int round = 0; round < 20; round++) {
        int array[len];
        for (int i = 0; i < len; i++) {
            array[i] = i + round;
        }
        struct aligned large;
        memset(&large, round, sizeof large);
#pragma omp task firstprivate(array, large, round) shared(sum) if (round % 5 != 4)
        {
            CHECK_EQUAL((uintptr_t)&large % 256, 0);
            long mine = 0;
            for (int i = 0; i < len; i++) {
                CHECK_EQUAL(array[i], i + round);
                mine += array[i];
                array[i] = -1;
            }
            for (size_t i = 0; i < sizeof large.bytes; i++) {
                CHECK_EQUAL(large.bytes[i], round);
            }
#pragma omp atomic
            sum += mine;
        }
        memset(&large, 77, sizeof large);
        memset(array, 77, sizeof array);
    }
    CHECK_EQUAL(sum, 20l * len * (len - 1) / 2 + 190l * len);
}

// A chain by address, readers between writers, and mutual exclusion.
static void dependences(void) {
    enum { CELLS = 12, ROUNDS = 15 };
    int cells[CELLS] = {0}, seen[CELLS] = {0};
    int inside = 0, entered = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < CELLS; i++) {
#pragma omp task depend(inout : cells[i]) firstprivate(i, round)
            {
                CHECK_EQUAL(cells[i], round);
                CHECK_EQUAL(seen[i], 2 * round);
                cells[i]++;
            }
            for (int reader = 0; reader < 2; reader++) {
#pragma omp task depend(in : cells[i], cells[(i + 1) % CELLS]) firstprivate(i, round)
                {
                    CHECK_EQUAL(cells[i], round + 1);
#pragma omp atomic
                    seen[i]++;
                }
            }
#pragma omp task depend(mutexinoutset : inside) priority(i)
            {
                CHECK_EQUAL(inside, 0);
                inside = 1;
                entered++;
                inside = 0;
            }
        }
        // Undeferred ones follow their predecessors, too.
#pragma omp task if (0) depend(in : cells[3]) firstprivate(round)
        CHECK_EQUAL(cells[3], round + 1);
#pragma omp taskwait depend(in : cells[5])
        CHECK_EQUAL(cells[5], round + 1);
    }
    CHECK_EQUAL(entered, CELLS * ROUNDS);
    // Many addresses, and objects.
    int order = 0;
    omp_depend_t out, in, mutex;
    int a = 0, b = 0;
#pragma omp depobj(out) depend(out : a)
#pragma omp depobj(in) depend(in : a)
#pragma omp depobj(mutex) depend(mutexinoutset : b)
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
#pragma omp task depend(iterator(i = 0                                                                       \
                                 : CELLS),                                                                   \
                        out                                                                                  \
                        : cells[i]) depend(iterator(i = 0                                                    \
                                                    : CELLS),                                                \
                                           out                                                               \
                                           : seen[i])
        order = 1;
#pragma omp task depend(in : cells[CELLS - 1]) depend(depobj : out)
        {
            CHECK_EQUAL(order, 1);
            a = 2;
        }
#pragma omp task depend(depobj : in, mutex) depend(in : seen[0]) depend(mutexinoutset : inside)
        {
            CHECK_EQUAL(a, 2);
            b = 3;
        }
#pragma omp depobj(in) update(inout)
#pragma omp task depend(depobj : in)
        a = b;
#pragma omp taskwait
        CHECK_EQUAL(a, 3);
    }
#pragma omp depobj(out) destroy
#pragma omp depobj(in) destroy
#pragma omp depobj(mutex) destroy
}

// Tasks that have ended when their event is fulfilled, before or after their code is over.
static void detached(void) {
    int after = 0, value = 0, go = 0;
    omp_event_handle_t first, second;
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
#pragma omp task detach(first) depend(out : value) shared(value)
        value = 1;
#pragma omp task depend(in : value) shared(value, after, go)
        {
            CHECK_EQUAL(value, 1);
            CHECK_EQUAL(go, 1);
            after = 1;
        }
#pragma omp taskyield
        for (volatile int spin = 0; spin < 10000; spin++) {
        }
        CHECK_EQUAL(after, 0);
#pragma omp task detach(second)
        omp_fulfill_event(second);
#pragma omp task shared(go)
        {
            go = 1;
            omp_fulfill_event(first);
        }
#pragma omp taskwait
        CHECK_EQUAL(after, 1);
    }
}

// Every kind of cut, in both directions, of both types.
#define TASKLOOP(...)                                                                                        \
    do {                                                                                                     \
        for (int n = 0; n < 60; n += 7) {                                                                    \
            long sum = 0, last = -1;                                                                         \
            unsigned long biggest = 0;                                                                       \
            _Pragma("omp parallel num_threads(threads)") _Pragma("omp single") {                             \
                DO_PRAGMA(omp taskloop shared(sum) lastprivate(last) __VA_ARGS__)                            \
                for (int i = 0; i < 3 * n; i += 3) {                                                         \
                    last = i;                                                                                \
                    DO_PRAGMA(omp atomic)                                                                    \
                    sum += i;                                                                                \
                }                                                                                            \
                DO_PRAGMA(omp taskloop shared(sum, biggest) collapse(2) __VA_ARGS__)                         \
                for (unsigned long i = 2 * (unsigned long)n; i > 0; i -= 2) {                                \
                    for (int j = 0; j < 2; j++) {                                                            \
                        DO_PRAGMA(omp atomic)                                                                \
                        sum += (long)i;                                                                      \
                    }                                                                                        \
                }                                                                                            \
                DO_PRAGMA(omp taskloop lastprivate(biggest) __VA_ARGS__)                                     \
                for (unsigned long i = (unsigned long)n; i > 0; i--) {                                       \
                    biggest = i;                                                                             \
                }                                                                                            \
            }                                                                                                \
            CHECK_EQUAL(sum, 3l * n * (n - 1) / 2 + 2l * n * (n + 1));                                       \
            CHECK(n == 0 || last == 3 * (n - 1));                                                            \
            CHECK(n == 0 || biggest == 1);                                                                   \
        }                                                                                                    \
    } while (0)
#define DO_PRAGMA(...) _Pragma(#__VA_ARGS__)

static void taskloops(void) {
    int none = 0;
    TASKLOOP(untied);
    TASKLOOP(grainsize(4));
    TASKLOOP(grainsize(1000));
    TASKLOOP(num_tasks(3));
    TASKLOOP(num_tasks(100000) priority(2));
    TASKLOOP(if (none));
    TASKLOOP(final(1));
    // Exactly so many iterations, but for the last task.
    int sizes[9] = {0};
#pragma omp parallel num_threads(threads)
#pragma omp single
#pragma omp taskloop grainsize(5) firstprivate(none)
    for (int i = 0; i < 43; i++) {
        none++;
#pragma omp atomic
        sizes[i / 5]++;
    }
    for (int i = 0; i < 9; i++) {
        CHECK_EQUAL(sizes[i], i < 8 ? 5 : 3);
    }
    long total = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
#pragma omp taskgroup
        {
#pragma omp taskloop nogroup num_tasks(7) shared(total)
            for (long i = -10; i < 100; i++) {
#pragma omp atomic
                total += i;
            }
        }
        CHECK_EQUAL(total, 110l * 89 / 2);
    }
}

// A taskgroup waits for what its tasks generate, a taskwait does not.
static void groups(void) {
    int done = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (int round = 1; round <= 10; round++) {
#pragma omp taskgroup
        {
            for (int i = 0; i < 4; i++) {
#pragma omp task
                {
#pragma omp task
                    {
                        for (volatile int spin = 0; spin < 1000; spin++) {
                        }
#pragma omp atomic
                        done++;
                    }
                }
            }
        }
        CHECK_EQUAL(done, 4 * round);
    }
}

static void icvs_of_tasks(void) {
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
        omp_set_num_threads(5);
#pragma omp task
        {
            CHECK_EQUAL(omp_get_max_threads(), 5);
            omp_set_num_threads(6);
            CHECK_EQUAL(omp_get_max_threads(), 6);
            CHECK(!omp_in_final());
        }
#pragma omp task final(1)
        {
            CHECK(omp_in_final());
            int before = omp_get_thread_num();
#pragma omp task
            CHECK(omp_in_final() && omp_get_thread_num() == before);
        }
#pragma omp taskwait
        CHECK_EQUAL(omp_get_max_threads(), 5);
    }
}

static void nested(int depth, int *ended) {
    CHECK_EQUAL(omp_get_max_threads(), 4);
    if (depth > 0) {
#pragma omp task shared(ended) firstprivate(depth) if (0) final(depth == 2)
        {
            CHECK_EQUAL(omp_in_final(), depth <= 2);
            nested(depth - 1, ended);
            // Of this task only.
            omp_set_num_threads(7);
        }
        CHECK_EQUAL(omp_in_final(), depth < 2);
        CHECK_EQUAL(omp_get_max_threads(), 4);
    }
#pragma omp task shared(ended)
#pragma omp atomic
    (*ended)++;
}

// Tasks that run in place one after the other, in each other, and with tasks of their own that outlive them.
static void in_place(void) {
    enum { ROUNDS = 200, DEPTH = 4 };
    int ended = 0;
    int before = omp_get_max_threads();
    omp_set_num_threads(4);
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (int round = 0; round < ROUNDS; round++) {
        nested(DEPTH, &ended);
#pragma omp taskgroup
        {
#pragma omp task shared(ended) if (0)
            nested(DEPTH, &ended);
        }
        if (round % 2 == 0) {
#pragma omp taskwait
        }
    }
    omp_set_num_threads(before);
    CHECK_EQUAL(ended, 2 * ROUNDS * (DEPTH + 1));
}

int main(void) {
    CHECK_EQUAL(fib(12), 144);
    for (threads = 1; threads <= 8; threads *= 2) {
        long result = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
        result = fib(17);
        CHECK_EQUAL(result, 1597);
        data(1);
        data(1000);
        data(30000);
        dependences();
        detached();
        taskloops();
        groups();
        icvs_of_tasks();
        in_place();
    }
    // More tasks than any queue has places.
    threads = 3;
    int count = 0;
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < 3000; i++) {
#pragma omp task
#pragma omp atomic
        count++;
    }
    CHECK_EQUAL(count, 9000);
    // The same code without a region around it.
    threads = 1;
    int chain = 0;
#pragma omp task depend(out : chain) shared(chain)
    chain = 1;
#pragma omp task depend(in : chain) shared(chain)
    CHECK_EQUAL(chain, 1);
#pragma omp taskwait depend(in : chain)
#pragma omp taskgroup
#pragma omp taskloop shared(chain)
    for (int i = 0; i < 10; i++) {
        chain += i;
    }
    CHECK_EQUAL(chain, 46);
    printf("tasks ok\n");
    return 0;
}
