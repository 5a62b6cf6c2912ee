// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// C++ objects in tasks: copies and destructors balance; exceptions stay inside of regions.

#include "../common/check.h"

#include <omp.h>

static int alive;

struct Counted {
    int number;
    explicit Counted(int n) : number(n) { add(1); }
    Counted(const Counted &other) : number(other.number) { add(1); }
    Counted() : Counted(0) {}
    ~Counted() {
        number = -1;
        add(-1);
    }
    Counted &operator=(const Counted &other) {
        number = other.number;
        return *this;
    }
    static void add(int amount) {
#pragma omp atomic
        alive += amount;
    }
};

static void tasks() {
    long sum = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 60; i++) {
        Counted object(i);
#pragma omp task firstprivate(object) shared(sum) if (i % 3)
        {
#pragma omp atomic
            sum += object.number;
        }
#pragma omp task firstprivate(object) shared(sum) untied if (i % 2)
        {
            int number = object.number;
#pragma omp taskyield
#pragma omp atomic
            sum += number;
        }
    }
    CHECK_EQUAL(sum, 3540);
    CHECK_EQUAL(alive, 0);
}

static void taskloop() {
    for (int count = 0; count < 50; count += 7) {
        Counted base(5), last(0);
        long sum = 0;
#pragma omp parallel
#pragma omp single
        {
#pragma omp taskloop firstprivate(base) lastprivate(last) shared(sum) grainsize(3)
            for (int i = 0; i < count; i++) {
                last.number = i;
#pragma omp atomic
                sum += base.number;
            }
        }
        CHECK_EQUAL(sum, 5 * count);
        CHECK_EQUAL(last.number, count > 0 ? count - 1 : 0);
        CHECK_EQUAL(alive, 2);
    }
    CHECK_EQUAL(alive, 0);
}

#pragma omp declare reduction(+ : Counted : omp_out.number += omp_in.number) initializer(omp_priv = Counted(0))

static void reductions() {
    {
        Counted sum(3);
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 100; i++) {
            sum.number += i;
        }
        CHECK_EQUAL(sum.number, 4953);
#pragma omp parallel
#pragma omp single
        {
#pragma omp taskgroup task_reduction(+ : sum)
            for (int i = 0; i < 20; i++) {
#pragma omp task in_reduction(+ : sum)
                sum.number += 1;
            }
        }
        CHECK_EQUAL(sum.number, 4973);
    }
    CHECK_EQUAL(alive, 0);
}

static void exceptions() {
    int caught = 0;
#pragma omp parallel num_threads(4) reduction(+ : caught)
    {
        try {
            Counted object(1);
            throw 5;
        } catch (int number) {
            caught += number;
        }
    }
    CHECK_EQUAL(caught, 20);
    CHECK_EQUAL(alive, 0);
}

// What a cancellation finds before it has begun must not leave objects behind.
static void cancelled() {
    {
        Counted object(1);
        long ran = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
#pragma omp taskgroup
        {
#pragma omp task
            {
#pragma omp cancel taskgroup
            }
            for (int i = 0; i < 200; i++) {
#pragma omp task firstprivate(object) shared(ran)
                {
#pragma omp cancellation point taskgroup
#pragma omp atomic
                    ran += object.number;
                }
            }
        }
        CHECK(ran <= 200);
        CHECK_EQUAL(alive, 1);
    }
    CHECK_EQUAL(alive, 0);
}

int main(int argc, char **argv) {
    static const part parts[] = {{"tasks", tasks},
                                 {"taskloop", taskloop},
                                 {"reductions", reductions},
                                 {"exceptions", exceptions},
                                 {"cancelled", cancelled}};
    return run_parts(parts, sizeof parts / sizeof parts[0], argc, argv);
}
