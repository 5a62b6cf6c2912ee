// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Calls of other versions of gcc, made by hand: regions in two calls, static loops by call, the generic
// beginnings, target constructs of the first kind. Only for run-times with gcc's interface.

#include "../common/check.h"

#include <omp.h>
#include <stdbool.h>
#include <stdint.h>

typedef unsigned long long ull;
typedef void function(void *);

void GOMP_parallel_start(function *, void *, unsigned);
void GOMP_parallel_end(void);
void GOMP_parallel_sections_start(function *, void *, unsigned, unsigned);
void GOMP_parallel_loop_static_start(function *, void *, unsigned, long, long, long, long);
void GOMP_parallel_loop_dynamic_start(function *, void *, unsigned, long, long, long, long);
void GOMP_parallel_loop_guided_start(function *, void *, unsigned, long, long, long, long);
void GOMP_parallel_loop_runtime_start(function *, void *, unsigned, long, long, long);
void GOMP_parallel_loop_static(function *, void *, unsigned, long, long, long, long, unsigned);
void GOMP_parallel_loop_dynamic(function *, void *, unsigned, long, long, long, long, unsigned);
void GOMP_parallel_loop_guided(function *, void *, unsigned, long, long, long, long, unsigned);
void GOMP_parallel_loop_runtime(function *, void *, unsigned, long, long, long, unsigned);
void GOMP_parallel_loop_nonmonotonic_runtime(function *, void *, unsigned, long, long, long, unsigned);
bool GOMP_loop_static_start(long, long, long, long, long *, long *);
bool GOMP_loop_static_next(long *, long *);
bool GOMP_loop_dynamic_next(long *, long *);
bool GOMP_loop_guided_next(long *, long *);
bool GOMP_loop_runtime_next(long *, long *);
bool GOMP_loop_nonmonotonic_runtime_next(long *, long *);
bool GOMP_loop_ull_static_start(bool, ull, ull, ull, ull, ull *, ull *);
bool GOMP_loop_ull_static_next(ull *, ull *);
bool GOMP_loop_ull_dynamic_next(ull *, ull *);
bool GOMP_loop_ull_guided_next(ull *, ull *);
bool GOMP_loop_ull_runtime_next(ull *, ull *);
bool GOMP_loop_start(long, long, long, long, long, long *, long *, uintptr_t *, void **);
bool GOMP_loop_ull_start(bool, ull, ull, ull, long, ull, ull *, ull *, uintptr_t *, void **);
bool GOMP_loop_ordered_start(long, long, long, long, long, long *, long *, uintptr_t *, void **);
bool GOMP_loop_ull_ordered_start(bool, ull, ull, ull, long, ull, ull *, ull *, uintptr_t *, void **);
bool GOMP_loop_doacross_start(unsigned, long *, long, long, long *, long *, uintptr_t *, void **);
bool GOMP_loop_ull_doacross_start(unsigned, ull *, long, ull, ull *, ull *, uintptr_t *, void **);
bool GOMP_loop_ull_doacross_static_start(unsigned, ull *, ull, ull *, ull *);
bool GOMP_loop_ull_doacross_dynamic_start(unsigned, ull *, ull, ull *, ull *);
bool GOMP_loop_ull_doacross_guided_start(unsigned, ull *, ull, ull *, ull *);
bool GOMP_loop_ull_doacross_runtime_start(unsigned, ull *, ull *, ull *);
void GOMP_doacross_post(long *);
void GOMP_doacross_wait(long, ...);
void GOMP_doacross_ull_post(ull *);
void GOMP_doacross_ull_wait(ull, ...);
void GOMP_loop_end(void);
void GOMP_loop_end_nowait(void);
void GOMP_ordered_start(void);
void GOMP_ordered_end(void);
bool GOMP_loop_ordered_static_next(long *, long *);
bool GOMP_loop_ull_ordered_dynamic_next(ull *, ull *);
unsigned GOMP_sections_next(void);
void GOMP_sections_end(void);
void GOMP_target(int, function *, const void *, size_t, void **, size_t *, unsigned char *);
void GOMP_target_data(int, const void *, size_t, void **, size_t *, unsigned char *);
void GOMP_target_end_data(void);
void GOMP_target_update(int, const void *, size_t, void **, size_t *, unsigned char *);
void GOMP_teams(unsigned, unsigned);
void GOMP_parallel_loop_nonmonotonic_guided(function *, void *, unsigned, long, long, long, long, unsigned);
void GOMP_parallel_loop_maybe_nonmonotonic_runtime(function *, void *, unsigned, long, long, long, unsigned);
bool GOMP_loop_maybe_nonmonotonic_runtime_next(long *, long *);
void *GOMP_alloc(size_t, size_t, uintptr_t);
void GOMP_free(void *, uintptr_t);
void GOMP_offload_register(const void *, int, const void *);
void GOMP_offload_unregister(const void *, int, const void *);

// Which call gives the next chunk depends on the schedule: runtime, static, dynamic, guided, auto.
static bool (*const nexts[])(long *, long *) = {GOMP_loop_runtime_next, GOMP_loop_static_next,
                                                GOMP_loop_dynamic_next, GOMP_loop_guided_next,
                                                GOMP_loop_static_next};
static bool (*const ull_nexts[])(ull *, ull *) = {GOMP_loop_ull_runtime_next, GOMP_loop_ull_static_next,
                                                  GOMP_loop_ull_dynamic_next, GOMP_loop_ull_guided_next,
                                                  GOMP_loop_ull_static_next};
static bool (*next)(long *, long *);

enum { N = 100 };
static int runs[N], threads, members, next_ordered;
static int grid[8][9][7];

static void begin(void) {
    memset(runs, 0, sizeof runs);
    members = 0;
    next_ordered = 0;
}
static void once(int count) {
    for (int i = 0; i < N; i++) {
        CHECK_EQUAL(runs[i], i < count);
    }
    CHECK_EQUAL(members, threads);
}
static void run(long i) {
    CHECK(i >= 0 && i < N);
#pragma omp atomic
    runs[i]++;
}
static void count_member(void) {
#pragma omp atomic
    members++;
    CHECK_EQUAL(omp_get_num_threads(), threads);
    CHECK_EQUAL(omp_get_level(), 1);
}

static void in_region(void *data) {
    CHECK_EQUAL(*(int *)data, 42);
    run(omp_get_thread_num());
    count_member();
}
static void in_loop(void *data) {
    CHECK_EQUAL(*(int *)data, 42);
    long first, end;
    while (next(&first, &end)) {
        CHECK(first < end);
        for (long i = first; i < end; i += 3) {
            run(i / 3);
        }
    }
    GOMP_loop_end_nowait();
    count_member();
}
static void in_sections(void *data) {
    CHECK_EQUAL(*(int *)data, 42);
    unsigned number;
    while ((number = GOMP_sections_next()) != 0) {
        run((long)number - 1);
    }
    GOMP_sections_end();
    count_member();
}

static void started_regions(void) {
    int data = 42;
    for (int round = 0; round < 3; round++) {
        begin();
        GOMP_parallel_start(in_region, &data, (unsigned)threads);
        in_region(&data);
        GOMP_parallel_end();
        once(threads);
        CHECK_EQUAL(omp_get_level(), 0);
        begin();
        GOMP_parallel_sections_start(in_sections, &data, (unsigned)threads, 17);
        in_sections(&data);
        GOMP_parallel_end();
        once(17);
#define STARTED(...)                                                                                         \
    begin();                                                                                                 \
    __VA_ARGS__;                                                                                             \
    in_loop(&data);                                                                                          \
    GOMP_parallel_end();                                                                                     \
    once(50)
        STARTED(next = GOMP_loop_static_next;
                GOMP_parallel_loop_static_start(in_loop, &data, (unsigned)threads, 0, 150, 3, 0));
        STARTED(next = GOMP_loop_static_next;
                GOMP_parallel_loop_static_start(in_loop, &data, (unsigned)threads, 0, 150, 3, 4));
        STARTED(next = GOMP_loop_dynamic_next;
                GOMP_parallel_loop_dynamic_start(in_loop, &data, (unsigned)threads, 0, 149, 3, 2));
        STARTED(next = GOMP_loop_guided_next;
                GOMP_parallel_loop_guided_start(in_loop, &data, (unsigned)threads, 0, 148, 3, 1));
        STARTED(next = GOMP_loop_runtime_next;
                GOMP_parallel_loop_runtime_start(in_loop, &data, (unsigned)threads, 0, 150, 3));
#define AT_ONCE(...)                                                                                         \
    begin();                                                                                                 \
    __VA_ARGS__;                                                                                             \
    once(50)
        AT_ONCE(next = GOMP_loop_static_next;
                GOMP_parallel_loop_static(in_loop, &data, (unsigned)threads, 0, 150, 3, 7, 0));
        AT_ONCE(next = GOMP_loop_dynamic_next;
                GOMP_parallel_loop_dynamic(in_loop, &data, (unsigned)threads, 0, 150, 3, 7, 4));
        AT_ONCE(next = GOMP_loop_guided_next;
                GOMP_parallel_loop_guided(in_loop, &data, (unsigned)threads, 0, 150, 3, 7, 3));
        AT_ONCE(next = GOMP_loop_runtime_next;
                GOMP_parallel_loop_runtime(in_loop, &data, (unsigned)threads, 0, 150, 3, 2));
        AT_ONCE(next = GOMP_loop_nonmonotonic_runtime_next;
                GOMP_parallel_loop_nonmonotonic_runtime(in_loop, &data, (unsigned)threads, 0, 150, 3, 0));
    }
}

// One after the other in a region: each way to begin a loop.
static void beginnings(void) {
    long first, end;
    ull ufirst, uend;
    count_member();
#define EACH(start, next, number, from, to, step, comparison)                                                \
    for (bool more = start; more; more = next) {                                                             \
        for (number = from; number comparison to; number += step) {                                          \
            run((long)number);                                                                               \
        }                                                                                                    \
    }
    long i;
    ull u;
    EACH(GOMP_loop_static_start(0, 10, 1, 0, &first, &end), GOMP_loop_static_next(&first, &end), i, first,
         end, 1, <)
    GOMP_loop_end();
    EACH(GOMP_loop_static_start(19, 9, -1, 3, &first, &end), GOMP_loop_static_next(&first, &end), i, first,
         end, -1, >)
    GOMP_loop_end_nowait();
    EACH(GOMP_loop_ull_static_start(true, 20, 30, 1, 2, &ufirst, &uend),
         GOMP_loop_ull_static_next(&ufirst, &uend), u, ufirst, uend, 1, <)
    GOMP_loop_end();
    for (long round = 0; round <= 4; round++) {
        // gcc deals out the iterations of `auto` by itself, and libgomp 12 gets them wrong here.
        long schedule = round % 4;
        void *memory = (void *)24;
        long base = 30 + 10 * round;
        EACH(GOMP_loop_start(base, base + 5, 1, schedule, schedule == 0 ? 0 : 2, &first, &end, NULL, &memory),
             nexts[schedule](&first, &end), i, first, end, 1, <)
        long *shared = memory;
#pragma omp atomic
        shared[2]++;
        GOMP_loop_end();
        void *again = (void *)8;
        EACH(GOMP_loop_ull_start(false, (ull)base + 9, (ull)base + 4, -1ull, schedule | 0x80000000l,
                                 schedule == 0 ? 0 : 1, &ufirst, &uend, NULL, &again),
             ull_nexts[schedule](&ufirst, &uend), u, ufirst, uend, -1ull, >)
        CHECK_EQUAL(*(long *)again, 0);
        GOMP_loop_end();
    }
    for (bool more = GOMP_loop_ordered_start(0, 10, 1, 1, 1, &first, &end, NULL, NULL); more;
         more = GOMP_loop_ordered_static_next(&first, &end)) {
        for (i = first; i < end; i++) {
            GOMP_ordered_start();
            CHECK_EQUAL(next_ordered, i);
            next_ordered++;
            run(80 + i);
            GOMP_ordered_end();
        }
    }
    GOMP_loop_end();
    for (bool more = GOMP_loop_ull_ordered_start(true, 10, 20, 1, 2, 3, &ufirst, &uend, NULL, NULL); more;
         more = GOMP_loop_ull_ordered_dynamic_next(&ufirst, &uend)) {
        for (u = ufirst; u < uend; u++) {
            GOMP_ordered_start();
            CHECK_EQUAL(next_ordered, u);
            next_ordered++;
            run((long)(80 + u));
            GOMP_ordered_end();
        }
    }
    GOMP_loop_end();
}

// Three dimensions: each iteration follows the ones before it in each.
#define FOLLOW(type, post, wait)                                                                             \
    for (type a = from; a < to; a++) {                                                                       \
        for (type b = 0; b < 9; b++) {                                                                       \
            for (type c = 0; c < 7; c++) {                                                                   \
                if (a > 0) {                                                                                 \
                    wait(a - 1, b, c);                                                                       \
                    CHECK_EQUAL(grid[a - 1][b][c], round + 1);                                               \
                }                                                                                            \
                if (b > 0 && c > 0) {                                                                        \
                    wait(a, b - 1, c - 1);                                                                   \
                }                                                                                            \
                grid[a][b][c]++;                                                                             \
                type at[3] = {a, b, c};                                                                      \
                post(at);                                                                                    \
            }                                                                                                \
        }                                                                                                    \
    }
static void nests(void) {
    long counts[3] = {8, 9, 7}, from, to;
    for (int round = 0; round < 4; round++) {
        for (bool more =
                 GOMP_loop_doacross_start(3, counts, round, round == 0 ? 0 : 1, &from, &to, NULL, NULL);
             more; more = nexts[round](&from, &to)) {
            FOLLOW(long, GOMP_doacross_post, GOMP_doacross_wait)
        }
        GOMP_loop_end();
    }
    ull ucounts[3] = {8, 9, 7};
    const int schedules[] = {2, 1, 2, 3, 0};
    for (int round = 4; round < 9; round++) {
        ull from, to;
        bool more = round == 4   ? GOMP_loop_ull_doacross_start(3, ucounts, 2, 1, &from, &to, NULL, NULL)
                    : round == 5 ? GOMP_loop_ull_doacross_static_start(3, ucounts, 1, &from, &to)
                    : round == 6 ? GOMP_loop_ull_doacross_dynamic_start(3, ucounts, 2, &from, &to)
                    : round == 7 ? GOMP_loop_ull_doacross_guided_start(3, ucounts, 1, &from, &to)
                                 : GOMP_loop_ull_doacross_runtime_start(3, ucounts, &from, &to);
        for (; more; more = ull_nexts[schedules[round - 4]](&from, &to)) {
            FOLLOW(ull, GOMP_doacross_ull_post, GOMP_doacross_ull_wait)
        }
        GOMP_loop_end();
    }
}

static void in_target(void *addresses) {
    GOMP_teams(1, 2);
    CHECK_EQUAL(omp_get_num_teams(), 1);
    CHECK_EQUAL(omp_get_level(), 0);
    **(int **)addresses += 1;
}

static void old_target(void) {
    int value = 1;
    void *addresses[1] = {&value};
    size_t sizes[1] = {sizeof value};
    unsigned char kinds[1] = {0x23};
    GOMP_target_data(-1, NULL, 1, addresses, sizes, kinds);
    GOMP_target(-1, in_target, NULL, 1, addresses, sizes, kinds);
    GOMP_target_update(-1, NULL, 1, addresses, sizes, kinds);
    GOMP_target_end_data();
    CHECK_EQUAL(value, 2);
}

// Loops and memory whose calls the programs beside this one do not make.
static void others(void) {
    int sum = 0, odd = 0, data = 42;
    begin();
    next = GOMP_loop_guided_next;
    GOMP_parallel_loop_nonmonotonic_guided(in_loop, &data, (unsigned)threads, 0, 150, 3, 7, 0);
    once(50);
    begin();
    next = GOMP_loop_maybe_nonmonotonic_runtime_next;
    GOMP_parallel_loop_maybe_nonmonotonic_runtime(in_loop, &data, (unsigned)threads, 0, 150, 3, 0);
    once(50);
    unsigned long bound = 100;
#pragma omp parallel for schedule(nonmonotonic : runtime) num_threads(threads) reduction(+ : sum)
    for (unsigned long i = bound; i > 0; i--) {
        sum += (int)i;
    }
    CHECK_EQUAL(sum, 5050);
#pragma omp parallel num_threads(threads) firstprivate(odd) allocate(omp_large_cap_mem_alloc : odd)
    {
        CHECK_EQUAL(odd, 0);
        odd = omp_get_thread_num();
#pragma omp task firstprivate(odd) allocate(allocator(omp_default_mem_alloc), align(128) : odd)
        CHECK(odd >= 0 && (uintptr_t)&odd % 128 == 0);
    }
    void *memory = GOMP_alloc(256, 1000, omp_default_mem_alloc);
    CHECK(memory != NULL && (uintptr_t)memory % 256 == 0);
    memset(memory, 1, 1000);
    GOMP_free(memory, omp_default_mem_alloc);
    GOMP_offload_register(NULL, 5, NULL);
    GOMP_offload_unregister(NULL, 5, NULL);
}

int main(void) {
    for (threads = 1; threads <= 8; threads *= 2) {
        for (int kind = 1; kind <= 3; kind++) {
            omp_set_schedule((omp_sched_t)kind, 2);
            started_regions();
            begin();
#pragma omp parallel num_threads(threads)
            beginnings();
            once(N);
            memset(grid, 0, sizeof grid);
#pragma omp parallel num_threads(threads)
            nests();
            CHECK_EQUAL(grid[7][8][6], 9);
        }
        old_target();
        omp_set_schedule(omp_sched_guided, 3);
        others();
    }
    printf("old calls ok\n");
    return 0;
}
