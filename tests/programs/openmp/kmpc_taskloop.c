// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Taskloops with their clauses, and reductions that tasks take part in.

#include "../common/check.h"

#include <omp.h>

#define VISITS 1000
static int visits[VISITS];

static void expect(int count) {
    for (int i = 0; i < VISITS; i++) {
        CHECK_EQUAL(visits[i], i < count);
        visits[i] = 0;
    }
}

static void visit(int i) {
#pragma omp atomic
    visits[i]++;
}

static void clauses(void) {
    for (int count = 0; count < VISITS; count = count * 3 + 1) {
#pragma omp parallel
#pragma omp single
        {
#pragma omp taskloop
            for (int i = 0; i < count; i++) {
                visit(i);
            }
            expect(count);
#pragma omp taskloop grainsize(7)
            for (int i = 0; i < count; i++) {
                visit(i);
            }
            expect(count);
#pragma omp taskloop num_tasks(5)
            for (unsigned long i = 10; i < 10ul + 3ul * (unsigned)count; i += 3) {
                visit((int)((i - 10) / 3));
            }
            expect(count);
#pragma omp taskloop if (0)
            for (int i = count - 1; i >= 0; i--) {
                visit(i);
            }
            expect(count);
#pragma omp taskloop nogroup untied num_tasks(1000)
            for (int i = 0; i < count; i++) {
                visit(i);
            }
#pragma omp taskwait
            expect(count);
#pragma omp taskloop final(1) priority(2) collapse(2)
            for (int i = 0; i < count; i++) {
                for (int j = 0; j < 1; j++) {
                    visit(i + j);
                }
            }
            expect(count);
        }
    }
}

static void data(void) {
    int last = 0, base = 5;
    double block[4] = {1, 2, 3, 4};
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop firstprivate(base, block) lastprivate(last) grainsize(3)
        for (int i = 0; i < 100; i++) {
            CHECK(base == 5 && block[3] == 4);
            last = i + base;
        }
        CHECK_EQUAL(last, 104);
    }
}

static void taskloop_reduction(void) {
    for (int size = 1; size < 9; size += 3) {
        long sum = 10;
        double product = 1;
#pragma omp parallel num_threads(size)
#pragma omp single
        {
#pragma omp taskloop reduction(+ : sum) reduction(* : product) grainsize(2)
            for (int i = 0; i < 50; i++) {
                sum += i;
                product *= 2;
            }
            CHECK_EQUAL(sum, 1235);
            CHECK(product == 0x1p50);
        }
    }
}

static void group_reduction(void) {
    for (int size = 1; size < 9; size += 3) {
        long total = 100;
        int array[8] = {0};
        array[2] = 7;
#pragma omp parallel num_threads(size)
#pragma omp single
        {
#pragma omp taskgroup task_reduction(+ : total) task_reduction(+ : array [2:4])
            {
                for (int i = 0; i < 40; i++) {
#pragma omp task in_reduction(+ : total)
                    {
                        total += 1;
                        // A task of the task, by the address of the copy.
#pragma omp task in_reduction(+ : total)
                        total += 1;
                    }
#pragma omp task in_reduction(+ : array [2:4])
                    array[2 + i % 4] += 1;
                }
#pragma omp taskgroup
                {
#pragma omp task in_reduction(+ : total)
                    total += 1000;
                }
            }
            CHECK_EQUAL(total, 1180);
            CHECK_EQUAL(array[2], 17);
            for (int i = 3; i < 6; i++) {
                CHECK_EQUAL(array[i], 10);
            }
            CHECK(array[0] == 0 && array[1] == 0 && array[6] == 0 && array[7] == 0);
        }
    }
}

static void construct_reduction(void) {
    for (int size = 1; size < 9; size += 3) {
        long in_parallel = 0, in_loop = 0, members = 0;
#pragma omp parallel num_threads(size) reduction(task, + : in_parallel) reduction(+ : members)
        {
            members++;
            in_parallel++;
            for (int i = 0; i < 10; i++) {
#pragma omp task in_reduction(+ : in_parallel)
                in_parallel += 2;
            }
        }
        CHECK_EQUAL(in_parallel, 21 * members);
#pragma omp parallel num_threads(size)
        {
#pragma omp for reduction(task, + : in_loop)
            for (int i = 0; i < 60; i++) {
                in_loop++;
#pragma omp task in_reduction(+ : in_loop)
                in_loop += 3;
            }
            CHECK_EQUAL(in_loop, 240);
        }
    }
}

int main(int argc, char **argv) {
    static const struct part parts[] = {{"clauses", clauses},
                                        {"data", data},
                                        {"taskloop reduction", taskloop_reduction},
                                        {"taskgroup reduction", group_reduction},
                                        {"construct reduction", construct_reduction}};
    return run_parts(parts, sizeof parts / sizeof parts[0], argc, argv);
}
