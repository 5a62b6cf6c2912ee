// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What other compilers and versions ask of LLVM's interface: atomic compare as calls, nests of loops that are
// not counted from 0, run-time schedules in units, and dependences on all memory.

#include "../common/check.h"

#include <omp.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

typedef struct {
    int32_t reserved, flags, reserved_too, len;
    const char *source;
} ident;

static const ident here = {0, 2, 0, 22, ";unknown;unknown;0;0;;"};

typedef struct task {
    void *shareds;
    int32_t (*entry)(int32_t, struct task *);
    int32_t part;
    void *first, *second;
    int *place;
} task;

typedef struct {
    uintptr_t address;
    size_t bytes;
    uint8_t flags;
} dependence;

typedef struct {
    int64_t lower, upper, step;
} dimension;

int32_t __kmpc_global_thread_num(const ident *);
bool __kmpc_atomic_bool_4_cas(const ident *, int32_t, int32_t *, int32_t, int32_t);
int16_t __kmpc_atomic_val_2_cas(const ident *, int32_t, int16_t *, int16_t, int16_t);
bool __kmpc_atomic_bool_8_cas_cpt(const ident *, int32_t, int64_t *, int64_t, int64_t, int64_t *);
int8_t __kmpc_atomic_val_1_cas_cpt(const ident *, int32_t, int8_t *, int8_t, int8_t, int8_t *);
void __kmpc_doacross_init(const ident *, int32_t, int32_t, const dimension *);
void __kmpc_doacross_wait(const ident *, int32_t, const int64_t *);
void __kmpc_doacross_post(const ident *, int32_t, const int64_t *);
void __kmpc_doacross_fini(const ident *, int32_t);
void __kmpc_barrier(const ident *, int32_t);
void __kmpc_dispatch_init_8(const ident *, int32_t, int32_t, int64_t, int64_t, int64_t, int64_t);
int32_t __kmpc_dispatch_next_8(const ident *, int32_t, int32_t *, int64_t *, int64_t *, int64_t *);
task *__kmpc_omp_task_alloc(const ident *, int32_t, int32_t, size_t, size_t, int32_t (*)(int32_t, task *));
int32_t __kmpc_omp_task_with_deps(const ident *, int32_t, task *, int32_t, const dependence *, int32_t,
                                  const dependence *);
void __kmpc_omp_wait_deps(const ident *, int32_t, int32_t, const dependence *, int32_t, const dependence *);
int __kmpc_get_target_offload(void);
void kmp_set_defaults(const char *);

static void compare(void) {
    int32_t word = 5;
    CHECK(!__kmpc_atomic_bool_4_cas(&here, 0, &word, 4, 9) && word == 5);
    CHECK(__kmpc_atomic_bool_4_cas(&here, 0, &word, 5, 9) && word == 9);
    int16_t small = -3;
    CHECK(__kmpc_atomic_val_2_cas(&here, 0, &small, 3, 1) == -3 && small == -3);
    CHECK(__kmpc_atomic_val_2_cas(&here, 0, &small, -3, 1) == -3 && small == 1);
    int64_t large = 1ll << 40, found = 7;
    CHECK(__kmpc_atomic_bool_8_cas_cpt(&here, 0, &large, 1ll << 40, 2, &found) && large == 2 && found == 7);
    CHECK(!__kmpc_atomic_bool_8_cas_cpt(&here, 0, &large, 3, 4, &found) && large == 2 && found == 2);
    int8_t byte = 6, after = 0;
    CHECK(__kmpc_atomic_val_1_cas_cpt(&here, 0, &byte, 6, 8, &after) == 6 && byte == 8 && after == 8);
    CHECK(__kmpc_atomic_val_1_cas_cpt(&here, 0, &byte, 6, 1, &after) == 8 && byte == 8 && after == 8);
}

// Each iteration of a nest needs the one before it in both loops: 10, 13 ... 97 and 6, 5 ... -6.
static void nest(void) {
    const dimension loops[2] = {{10, 97, 3}, {6, -6, -1}};
    static int done[30][13];
    memset(done, 0, sizeof done);
#pragma omp parallel
    {
        int32_t me = __kmpc_global_thread_num(&here);
        __kmpc_doacross_init(&here, me, 2, loops);
#pragma omp for schedule(static, 1) nowait
        for (int row = 0; row < 30; row++) {
            for (int column = 0; column < 13; column++) {
                int64_t at[2] = {10 + 3 * row, 6 - column};
                int64_t above[2] = {at[0] - 3, at[1]}, left[2] = {at[0], at[1] + 1};
                __kmpc_doacross_wait(&here, me, above);
                __kmpc_doacross_wait(&here, me, left);
                int before = (row > 0 ? done[row - 1][column] : 0) + (column > 0 ? done[row][column - 1] : 0);
                CHECK(row + column == 0 || before > 0);
                done[row][column] = row + column == 0 ? 1 : row > 0 ? done[row - 1][column] + 1 : before + 1;
                __kmpc_doacross_post(&here, me, at);
            }
        }
        __kmpc_doacross_fini(&here, me);
    }
    CHECK_EQUAL(done[29][12], 42);
}

// Chunks are multiples of the unit times the schedule's chunk, but for the last one.
static void units(void) {
    enum { RUNTIME_SIMD = 47, GUIDED_SIMD = 46, UNIT = 4, TRIPS = 103 };
    static const struct {
        omp_sched_t kind;
        int chunk, schedule, unit;
    } all[] = {{omp_sched_static, 0, RUNTIME_SIMD, 4},  {omp_sched_static, 2, RUNTIME_SIMD, 8},
               {omp_sched_dynamic, 0, RUNTIME_SIMD, 4}, {omp_sched_dynamic, 3, RUNTIME_SIMD, 12},
               {omp_sched_guided, 2, RUNTIME_SIMD, 8},  {omp_sched_auto, 0, RUNTIME_SIMD, 4},
               {omp_sched_static, 0, GUIDED_SIMD, 4}};
    for (size_t index = 0; index < sizeof all / sizeof *all; index++) {
        int sum = 0;
        omp_set_schedule(all[index].kind, all[index].chunk);
#pragma omp parallel reduction(+ : sum)
        {
            int32_t me = __kmpc_global_thread_num(&here), is_last;
            int64_t lower, upper, step;
            __kmpc_dispatch_init_8(&here, me, all[index].schedule, 0, TRIPS - 1, 1, UNIT);
            while (__kmpc_dispatch_next_8(&here, me, &is_last, &lower, &upper, &step) != 0) {
                CHECK(is_last != 0 || (upper - lower + 1) % all[index].unit == 0);
                CHECK((is_last != 0) == (upper == TRIPS - 1));
                sum += (int)(upper - lower + 1);
            }
            __kmpc_barrier(&here, me);
        }
        CHECK_EQUAL(sum, TRIPS);
    }
}

static void pass_time(void) {
    struct timespec moment = {0, 200000};
    nanosleep(&moment, NULL);
}

static int running, wrong;

static int32_t run_alone(int32_t thread, task *self) {
    (void)thread;
    int others;
#pragma omp atomic capture
    others = running++;
    wrong += others != 0;
    pass_time();
    ++*self->place;
#pragma omp atomic
    running--;
    return 0;
}

static void submit_alone(int32_t me, dependence all, int *place) {
    task *made = __kmpc_omp_task_alloc(&here, me, 1, sizeof(task), 0, run_alone);
    made->place = place;
    __kmpc_omp_task_with_deps(&here, me, made, 1, &all, 0, NULL);
}

// Both ways to say omp_all_memory; a wait for it is not one for tasks without dependences.
static void all_memory(void) {
    const dependence by_flag = {0, 0, 0x80}, by_address = {UINTPTR_MAX, 0, 2};
    int alone = 0, items[2] = {0, 0}, may_end = 0;
#pragma omp parallel shared(alone, items, may_end)
#pragma omp single
    {
        int32_t me = __kmpc_global_thread_num(&here);
        for (int round = 0; round < 10; round++) {
            for (int item = 0; item < 2; item++) {
#pragma omp task depend(inout : items[item]) shared(items)
                {
                    CHECK(running == 0);
                    pass_time();
                    items[item]++;
                }
            }
            submit_alone(me, by_flag, &alone);
            submit_alone(me, by_address, &alone);
        }
        // A task of nothing, behind all others.
        task *empty = __kmpc_omp_task_alloc(&here, me, 1, sizeof(task), 0, NULL);
        __kmpc_omp_task_with_deps(&here, me, empty, 1, &by_flag, 0, NULL);
        __kmpc_omp_wait_deps(&here, me, 1, &by_flag, 0, NULL);
        CHECK(alone == 20 && items[0] == 10 && items[1] == 10);
        if (omp_get_num_threads() > 1) {
            int has_begun = 0;
#pragma omp task shared(may_end, has_begun)
            {
#pragma omp atomic write
                has_begun = 1;
                for (int value = 0; value == 0; pass_time()) {
#pragma omp atomic read
                    value = may_end;
                }
            }
            for (int value = 0; value == 0; pass_time()) {
#pragma omp atomic read
                value = has_begun;
            }
            __kmpc_omp_wait_deps(&here, me, 1, &by_flag, 0, NULL);
#pragma omp atomic write
            may_end = 1;
#pragma omp taskwait
        }
    }
    CHECK_EQUAL(wrong, 0);
}

static void offload(void) {
    kmp_set_defaults("OMP_TARGET_OFFLOAD=Disabled");
    CHECK_EQUAL(__kmpc_get_target_offload(), 0);
    kmp_set_defaults("OMP_TARGET_OFFLOAD=mandatory");
    CHECK_EQUAL(__kmpc_get_target_offload(), 2);
    kmp_set_defaults("OMP_TARGET_OFFLOAD=default");
    CHECK_EQUAL(__kmpc_get_target_offload(), 1);
}

int main(void) {
    compare();
    for (int round = 0; round < 20; round++) {
        nest();
        units();
    }
    all_memory();
    offload();
    printf("calls of other compilers\n");
    return 0;
}
