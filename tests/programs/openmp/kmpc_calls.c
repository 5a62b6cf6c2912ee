// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Entry points of libomp that the compilers at hand do not call: what other versions of clang and flang
// expect of them.

#include "../common/check.h"

#include <omp.h>
#include <stdint.h>

typedef struct {
    int32_t reserved, flags, reserved_too, len;
    const char *source;
} ident;

static const ident here = {0, 2, 0, 22, ";unknown;unknown;0;0;;"};

int32_t __kmpc_global_thread_num(const ident *);
int32_t __kmpc_bound_thread_num(const ident *);
int32_t __kmpc_bound_num_threads(const ident *);
int32_t __kmpc_in_parallel(const ident *);
int32_t __kmpc_ok_to_fork(const ident *);
void __kmpc_begin(const ident *, int32_t);
void __kmpc_end(const ident *);
void __kmpc_fork_call_if(const ident *, int32_t, void (*)(int32_t *, int32_t *, void *), int32_t, void *);
void __kmpc_push_num_threads(const ident *, int32_t, int32_t);
void __kmpc_push_num_teams_51(const ident *, int32_t, int32_t, int32_t, int32_t);
void __kmpc_fork_teams(const ident *, int32_t, void (*)(int32_t *, int32_t *, ...), ...);
int32_t __kmpc_sections_init(const ident *, int32_t);
int32_t __kmpc_next_section(const ident *, int32_t, int32_t);
void __kmpc_end_sections(const ident *, int32_t);
void __kmpc_scope(const ident *, int32_t, void *);
void __kmpc_end_scope(const ident *, int32_t, void *);
void *__kmpc_copyprivate_light(const ident *, int32_t, void *);
int32_t __kmpc_single(const ident *, int32_t);
void __kmpc_end_single(const ident *, int32_t);
void __kmpc_barrier(const ident *, int32_t);
void __kmpc_dist_for_static_init_4(const ident *, int32_t, int32_t, int32_t *, int32_t *, int32_t *,
                                   int32_t *, int32_t *, int32_t, int32_t);
void __kmpc_dist_dispatch_init_8(const ident *, int32_t, int32_t, int32_t *, int64_t, int64_t, int64_t,
                                 int64_t);
int32_t __kmpc_dispatch_next_8(const ident *, int32_t, int32_t *, int64_t *, int64_t *, int64_t *);
void __kmpc_dispatch_deinit(const ident *, int32_t);
void __kmpc_for_static_fini(const ident *, int32_t);
void __kmpc_init_lock(const ident *, int32_t, void **);
void __kmpc_set_lock(const ident *, int32_t, void **);
int __kmpc_test_lock(const ident *, int32_t, void **);
void __kmpc_unset_lock(const ident *, int32_t, void **);
void __kmpc_destroy_lock(const ident *, int32_t, void **);
void __kmpc_init_nest_lock(const ident *, int32_t, void **);
void __kmpc_set_nest_lock(const ident *, int32_t, void **);
int __kmpc_test_nest_lock(const ident *, int32_t, void **);
void __kmpc_unset_nest_lock(const ident *, int32_t, void **);
void __kmpc_destroy_nest_lock(const ident *, int32_t, void **);
void *__kmpc_alloc(int32_t, size_t, uintptr_t);
void *__kmpc_aligned_alloc(int32_t, size_t, size_t, uintptr_t);
void *__kmpc_calloc(int32_t, size_t, size_t, uintptr_t);
void __kmpc_free(int32_t, void *, uintptr_t);

typedef struct task {
    void *shareds;
    int32_t (*entry)(int32_t, struct task *);
    int32_t part;
    void *first, *second;
    uint64_t lower, upper;
    int64_t step;
    int32_t is_last;
    void *reductions;
    int32_t own;
} task;
struct depend_info {
    intptr_t address;
    size_t len;
    uint8_t flags;
};
task *__kmpc_omp_task_alloc(const ident *, int32_t, int32_t, size_t, size_t, int32_t (*)(int32_t, task *));
int32_t __kmpc_omp_task_with_deps(const ident *, int32_t, task *, int32_t, struct depend_info *, int32_t,
                                  struct depend_info *);
void __kmpc_omp_taskwait_deps_51(const ident *, int32_t, int32_t, struct depend_info *, int32_t,
                                 struct depend_info *, int32_t);
void __kmpc_taskloop_5(const ident *, int32_t, task *, int32_t, uint64_t *, uint64_t *, int64_t, int32_t,
                       int32_t, uint64_t, int32_t, void *);

static int gtid(void) { return __kmpc_global_thread_num(&here); }

static void identity(void) {
    __kmpc_begin(&here, 0);
    CHECK(__kmpc_ok_to_fork(&here));
    CHECK(!__kmpc_in_parallel(&here));
#pragma omp parallel num_threads(3)
    {
        CHECK_EQUAL(__kmpc_bound_thread_num(&here), omp_get_thread_num());
        CHECK_EQUAL(__kmpc_bound_num_threads(&here), 3);
        CHECK(__kmpc_in_parallel(&here));
    }
    __kmpc_end(&here);
}

static void body(int32_t *id, int32_t *bound, void *argument) {
    CHECK_EQUAL(*id, gtid());
    CHECK_EQUAL(*bound, omp_get_thread_num());
    __atomic_fetch_add((int *)argument, omp_get_num_threads() == 1 ? 100 : 1, __ATOMIC_RELAXED);
}

static void fork_if(void) {
    int count = 0;
    __kmpc_push_num_threads(&here, gtid(), 3);
    __kmpc_fork_call_if(&here, 1, body, 1, &count);
    CHECK_EQUAL(count, 3);
    __kmpc_push_num_threads(&here, gtid(), 3);
    __kmpc_fork_call_if(&here, 1, body, 0, &count);
    CHECK_EQUAL(count, 103);
    // Numbers that make no sense ask for one thread.
    __kmpc_push_num_threads(&here, gtid(), -5);
    __kmpc_fork_call_if(&here, 1, body, 1, &count);
    CHECK_EQUAL(count, 203);
}

static void sections(void) {
    int ran[50] = {0};
#pragma omp parallel
    for (int round = 0; round < 20; round++) {
        __kmpc_scope(&here, gtid(), NULL);
        __kmpc_sections_init(&here, gtid());
        int number;
        while ((number = __kmpc_next_section(&here, gtid(), 50)) >= 0 && number < 50) {
            __atomic_fetch_add(&ran[number], 1, __ATOMIC_RELAXED);
        }
        __kmpc_end_sections(&here, gtid());
        __kmpc_end_scope(&here, gtid(), NULL);
    }
    for (int number = 0; number < 50; number++) {
        CHECK_EQUAL(ran[number], 20);
    }
}

static void copyprivate(void) {
#pragma omp parallel
    for (int round = 0; round < 30; round++) {
        int own = -1, *from = NULL;
        if (__kmpc_single(&here, gtid())) {
            own = round;
            from = &own;
            __kmpc_end_single(&here, gtid());
        }
        from = __kmpc_copyprivate_light(&here, gtid(), from);
        CHECK_EQUAL(*from, round);
        __kmpc_barrier(&here, gtid());
    }
}

static int visits[100];

static void in_team(int32_t *id, int32_t *bound, ...) {
    (void)id;
    (void)bound;
#pragma omp parallel num_threads(2)
    {
        int32_t last = 0, lower = 0, upper = 99, team_upper = 0, stride = 0;
        __kmpc_dist_for_static_init_4(&here, gtid(), 34, &last, &lower, &upper, &team_upper, &stride, 1, 1);
        for (int32_t i = lower; i <= upper && i <= 99; i++) {
            __atomic_fetch_add(&visits[i], 1, __ATOMIC_RELAXED);
            CHECK(i <= team_upper);
        }
        CHECK_EQUAL(last != 0, lower <= upper && upper == 99);
        __kmpc_for_static_fini(&here, gtid());
        int64_t first, end, step;
        __kmpc_dist_dispatch_init_8(&here, gtid(), 35, &last, 0, 99, 1, 3);
        while (__kmpc_dispatch_next_8(&here, gtid(), &last, &first, &end, &step)) {
            for (; first <= end; first++) {
                __atomic_fetch_add(&visits[first], 1, __ATOMIC_RELAXED);
            }
        }
        __kmpc_dispatch_deinit(&here, gtid());
    }
}

static void distribute(void) {
    __kmpc_push_num_teams_51(&here, gtid(), 3, 3, 2);
    __kmpc_fork_teams(&here, 0, in_team);
    for (int i = 0; i < 100; i++) {
        CHECK_EQUAL(visits[i], 2);
    }
}

static void locks(void) {
    void *lock = NULL, *nest = NULL;
    long count = 0;
    __kmpc_init_lock(&here, gtid(), &lock);
    __kmpc_init_nest_lock(&here, gtid(), &nest);
#pragma omp parallel
    for (int round = 0; round < 1000; round++) {
        __kmpc_set_lock(&here, gtid(), &lock);
        count++;
        __kmpc_unset_lock(&here, gtid(), &lock);
        __kmpc_set_nest_lock(&here, gtid(), &nest);
        CHECK_EQUAL(__kmpc_test_nest_lock(&here, gtid(), &nest), 2);
        __kmpc_unset_nest_lock(&here, gtid(), &nest);
        __kmpc_unset_nest_lock(&here, gtid(), &nest);
    }
    CHECK_EQUAL(count, 1000 * omp_get_max_threads());
    CHECK(__kmpc_test_lock(&here, gtid(), &lock));
    CHECK(!__kmpc_test_lock(&here, gtid(), &lock));
    __kmpc_unset_lock(&here, gtid(), &lock);
    __kmpc_destroy_lock(&here, gtid(), &lock);
    __kmpc_destroy_nest_lock(&here, gtid(), &nest);
}

static void memory(void) {
    char *zeros = __kmpc_calloc(gtid(), 100, 7, omp_default_mem_alloc);
    for (int i = 0; i < 700; i++) {
        CHECK_EQUAL(zeros[i], 0);
    }
    __kmpc_free(gtid(), zeros, omp_default_mem_alloc);
    void *aligned = __kmpc_aligned_alloc(gtid(), 4096, 100, omp_default_mem_alloc);
    CHECK_EQUAL((uintptr_t)aligned % 4096, 0);
    __kmpc_free(gtid(), aligned, omp_default_mem_alloc);
    void *plain = __kmpc_alloc(gtid(), 10, 0);
    CHECK(plain != NULL);
    __kmpc_free(gtid(), plain, 0);
}

static int sizes[100], done, cell;

static int32_t run_part(int32_t id, task *part) {
    (void)id;
    CHECK_EQUAL(part->own, 1234);
    CHECK_EQUAL(*(int *)part->shareds, 4321);
    CHECK_EQUAL(part->is_last, part->upper == 99);
    for (uint64_t i = part->lower; i <= part->upper; i++) {
        sizes[i] = (int)(part->upper - part->lower + 1);
    }
    return 0;
}

// taskloop grainsize(strict: 7), num_tasks(strict: 8), which end when all their parts have ended: often,
// since it is rarely another thread that takes the last part.
static void strict(void) {
    for (int round = 0; round < 400; round++) {
        int clause = 1 + round % 2;
#pragma omp parallel
#pragma omp single
        {
            task *pattern = __kmpc_omp_task_alloc(&here, gtid(), 1, sizeof(task), sizeof(int), run_part);
            pattern->own = 1234;
            *(int *)pattern->shareds = 4321;
            pattern->lower = 0;
            pattern->upper = 99;
            pattern->step = 1;
            __kmpc_taskloop_5(&here, gtid(), pattern, 1, &pattern->lower, &pattern->upper, 1, 0, clause,
                              6 + clause, 1, NULL);
            for (int i = 0; i < 100; i++) {
                CHECK_EQUAL(sizes[i], clause == 1 ? (i < 98 ? 7 : 2) : (i < 52 ? 13 : 12));
            }
        }
    }
}

static int32_t run_dependent(int32_t id, task *part) {
    (void)id;
    CHECK_EQUAL(cell, part->own);
    cell = part->own + 1;
    __atomic_fetch_add(&done, 1, __ATOMIC_RELEASE);
    return 0;
}

// taskwait depend(...) nowait, with lists in two parts and omp_all_memory
static void depend(void) {
    struct depend_info inout = {(intptr_t)&cell, sizeof cell, 3}, other = {(intptr_t)&done, sizeof done, 1},
                       all = {0, 0, 0x80};
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 30; i++) {
            task *made = __kmpc_omp_task_alloc(&here, gtid(), 1, sizeof(task), 0, run_dependent);
            made->own = i;
            if (i % 5 == 4) {
                __kmpc_omp_task_with_deps(&here, gtid(), made, 1, &all, 0, NULL);
            } else if (i % 2) {
                __kmpc_omp_task_with_deps(&here, gtid(), made, 1, &other, 1, &inout);
            } else {
                __kmpc_omp_task_with_deps(&here, gtid(), made, 1, &inout, 0, NULL);
            }
            __kmpc_omp_taskwait_deps_51(&here, gtid(), 1, &inout, 1, &other, 1);
        }
        __kmpc_omp_taskwait_deps_51(&here, gtid(), 1, &inout, 0, NULL, 0);
        CHECK_EQUAL(__atomic_load_n(&done, __ATOMIC_ACQUIRE), 30);
    }
}

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"identity", identity},       {"fork if", fork_if},       {"sections", sections},
        {"copyprivate", copyprivate}, {"distribute", distribute}, {"locks", locks},
        {"memory", memory},           {"strict", strict},         {"depend", depend}};
    return run_parts(parts, sizeof parts / sizeof parts[0], argc, argv);
}
