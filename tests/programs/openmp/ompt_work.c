// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A tool in the program learns of worksharing constructs: each thread's begin and end, of the same kind, with
// the number of iterations, and where in the program both are. That is in one function, which is short.

#include "../common/check.h"
#include "ompt_tool.h"

#include <omp.h>
#include <stdlib.h>

enum { WORK_LOOP = 1, WORK_SECTIONS = 2, WORK_KINDS = 20 };
enum { TRIPS = 300, LONGEST_FUNCTION = 2048 };

static int (*set_callback)(int, ompt_function_t);
static int begun[WORK_KINDS], ended[WORK_KINDS];
static _Thread_local int open_kind;
static _Thread_local uint64_t open_count;
static _Thread_local const char *begun_at;

static void on_work(int kind, int endpoint, ompt_data_t *parallel, ompt_data_t *task, uint64_t count,
                    const void *code) {
    CHECK(parallel != NULL && task != NULL && code != NULL);
    CHECK(kind > 0 && kind < WORK_KINDS);
    if (endpoint == SCOPE_BEGIN) {
        CHECK_EQUAL(open_kind, 0);
        open_kind = kind;
        open_count = count;
        begun_at = code;
        __atomic_fetch_add(&begun[kind], 1, __ATOMIC_SEQ_CST);
        return;
    }
    CHECK_EQUAL(endpoint, SCOPE_END);
    CHECK_EQUAL(kind, open_kind);
    CHECK_EQUAL(count, open_count);
    CHECK(labs((const char *)code - begun_at) < LONGEST_FUNCTION);
    open_kind = 0;
    __atomic_fetch_add(&ended[kind], 1, __ATOMIC_SEQ_CST);
}

static int initialize(ompt_lookup_t lookup, int device, ompt_data_t *data) {
    (void)device, (void)data;
    set_callback = (int (*)(int, ompt_function_t))lookup("ompt_set_callback");
    CHECK(set_callback(WORK, (ompt_function_t)on_work) >= SET_SOMETIMES);
    return 1;
}

static void finalize(ompt_data_t *data) { (void)data; }

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime) {
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    (void)version, (void)runtime;
    return &result;
}

// What a construct leaves behind in the caller.
static void check_done(int kind, uint64_t count) {
    CHECK_EQUAL(open_kind, 0);
    CHECK(__atomic_load_n(&begun[kind], __ATOMIC_SEQ_CST) > 0);
    CHECK_EQUAL(open_count, count);
}

// A loop of each kind whose chunks the run-time hands out; each member passes through it once.
#define CHECK_LOOP(schedule_clause)                                                                          \
    do {                                                                                                     \
        int before = ended[WORK_LOOP];                                                                       \
        long sum = 0;                                                                                        \
        _Pragma("omp parallel reduction(+ : sum)") {                                                         \
            _Pragma(schedule_clause) for (long i = 0; i < TRIPS; i++) { sum += i; }                          \
            check_done(WORK_LOOP, TRIPS);                                                                    \
        }                                                                                                    \
        CHECK_EQUAL(sum, (long)TRIPS *(TRIPS - 1) / 2);                                                      \
        CHECK_EQUAL(ended[WORK_LOOP], before + omp_get_max_threads());                                       \
        CHECK_EQUAL(begun[WORK_LOOP], ended[WORK_LOOP]);                                                     \
    } while (0)

static void loops(void) {
    CHECK_LOOP("omp for schedule(dynamic, 1)");
    CHECK_LOOP("omp for schedule(monotonic : dynamic, 7)");
    CHECK_LOOP("omp for schedule(nonmonotonic : dynamic, 7) nowait");
    CHECK_LOOP("omp for schedule(guided)");
    CHECK_LOOP("omp for schedule(runtime)");
    CHECK_LOOP("omp for schedule(dynamic, 2) ordered");
}

static void sections(void) {
    int done = 0;
#pragma omp parallel
    {
#pragma omp sections reduction(+ : done)
        {
            done++;
#pragma omp section
            done += 2;
#pragma omp section
            done += 4;
        }
        CHECK_EQUAL(open_kind, 0);
    }
    CHECK_EQUAL(done, 7);
    CHECK_EQUAL(ended[WORK_SECTIONS], omp_get_max_threads());
    CHECK_EQUAL(begun[WORK_SECTIONS], ended[WORK_SECTIONS]);
}

int main(void) {
    loops();
    sections();
    puts("work");
    return 0;
}
