// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Tasks: data, untied tasks, undeferred ones, events, priorities, dependences.

#include "../common/check.h"

#include <omp.h>

static long fib(int n) {
    if (n < 2) {
        return n;
    }
    long a, b;
#pragma omp task shared(a) if (n > 10)
    a = fib(n - 1);
#pragma omp task shared(b) final(n < 12) mergeable
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static void tree(void) {
    long result = 0;
#pragma omp parallel
#pragma omp single
    result = fib(19);
    CHECK_EQUAL(result, 4181);
    CHECK_EQUAL(fib(10), 55); // outside of all regions
}

struct large {
    char bytes[9000];
    int number;
};

static void data(void) {
    long sum = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 100; i++) {
        struct large block;
        block.number = i;
        block.bytes[8999] = (char)i;
#pragma omp task firstprivate(block) shared(sum)
        {
            CHECK_EQUAL(block.bytes[8999], (char)block.number);
#pragma omp atomic
            sum += block.number;
        }
        int small = i;
#pragma omp task firstprivate(small)
        {
#pragma omp atomic
            sum += small;
        }
    }
    CHECK_EQUAL(sum, 9900);
}

static int depth_of(int n) {
    int found = 0;
#pragma omp task untied shared(found) if (n % 3 != 0)
    {
        if (n > 0) {
            int below = depth_of(n - 1);
#pragma omp taskyield
            found = below + 1;
        }
#pragma omp taskwait
    }
#pragma omp taskwait
    return found;
}

static void untied(void) {
    int found = 0, count = 0;
#pragma omp parallel
    {
#pragma omp single nowait
        found = depth_of(20);
        for (int i = 0; i < 50; i++) {
#pragma omp task untied shared(count) if (i % 2)
            {
                int steps = 0;
                for (int step = 0; step < 3; step++) {
#pragma omp task untied shared(steps)
                    {
#pragma omp atomic
                        steps++;
                    }
#pragma omp taskyield
                }
#pragma omp taskwait
                CHECK_EQUAL(steps, 3);
#pragma omp atomic
                count += steps;
            }
        }
    }
    CHECK_EQUAL(found, 20);
    CHECK_EQUAL(count % 150, 0);
}

static void undeferred(void) {
    int order = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task if (0) shared(order)
        {
            order = 1;
#pragma omp task if (0) shared(order)
            order++;
        }
        CHECK_EQUAL(order, 2);
#pragma omp task final(1) shared(order)
        {
            CHECK(omp_in_final());
#pragma omp task shared(order)
            {
                CHECK(omp_in_final());
                order = 5;
            }
            CHECK_EQUAL(order, 5);
        }
    }
    CHECK_EQUAL(order, 5);
}

static void depend(void) {
    int x = 0, y = 0, total = 0;
#pragma omp parallel
#pragma omp single
    {
        for (int round = 0; round < 50; round++) {
#pragma omp task depend(out : x) shared(x)
            x = round;
#pragma omp task depend(in : x) depend(out : y) shared(x, y)
            y = x * 2;
#pragma omp task depend(in : x, y) shared(x, y, total)
            {
                CHECK_EQUAL(y, 2 * x);
                CHECK_EQUAL(x, round);
            }
#pragma omp task depend(mutexinoutset : total) shared(total)
            total++;
#pragma omp task depend(mutexinoutset : total) shared(total)
            total++;
        }
#pragma omp task depend(in : x) if (0) shared(x)
        CHECK_EQUAL(x, 49);
#pragma omp taskwait depend(in : total)
        CHECK_EQUAL(total, 100);
    }
    // Many at once.
    static int cells[40];
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 20; round++) {
#pragma omp task depend(iterator(i = 0 : 40), inout : cells[i]) shared(cells)
        for (int i = 0; i < 40; i++) {
            CHECK_EQUAL(cells[i], round);
            cells[i]++;
        }
    }
    CHECK_EQUAL(cells[39], 20);
}

static void objects(void) {
    int x = 0;
    omp_depend_t object;
#pragma omp depobj(object) depend(inout : x)
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 20; round++) {
#pragma omp task depend(depobj : object) shared(x)
        CHECK_EQUAL(x++, round);
    }
#pragma omp depobj(object) update(in)
#pragma omp depobj(object) destroy
    CHECK_EQUAL(x, 20);
}

static void detach(void) {
    int done = 0, after = 0;
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 20; round++) {
        omp_event_handle_t event;
        int cell = 0;
#pragma omp task detach(event) depend(out : cell) shared(done)
        {
#pragma omp atomic
            done++;
        }
#pragma omp task depend(in : cell) shared(after, done) firstprivate(round)
        {
            CHECK(done > round);
            after++;
        }
        if (round % 2) {
#pragma omp task firstprivate(event)
            omp_fulfill_event(event);
        } else {
            omp_fulfill_event(event);
        }
#pragma omp taskwait
        CHECK_EQUAL(after, round + 1);
    }
    CHECK_EQUAL(done, 20);
}

static void priorities(void) {
    int count = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 50; i++) {
#pragma omp task priority(i % 5) shared(count)
        {
#pragma omp atomic
            count++;
        }
    }
    CHECK_EQUAL(count, 50);
}

static void groups(void) {
    int count = 0;
#pragma omp parallel
#pragma omp single
    {
        for (int round = 1; round <= 20; round++) {
#pragma omp taskgroup
            for (int i = 0; i < 5; i++) {
#pragma omp task shared(count)
                {
#pragma omp task shared(count)
                    {
#pragma omp atomic
                        count++;
                    }
                }
            }
            CHECK_EQUAL(count, 5 * round);
        }
    }
}

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"tree", tree},     {"data", data},       {"untied", untied}, {"undeferred", undeferred},
        {"depend", depend}, {"objects", objects}, {"detach", detach}, {"priorities", priorities},
        {"groups", groups},
    };
    return run_parts(parts, sizeof parts / sizeof parts[0], argc, argv);
}
