// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A tool in the program learns of regions, implicit and explicit tasks, barriers and locks: what begins ends,
// in the right thread, and what it asks about them is right.

#include "../common/check.h"
#include "ompt_tool.h"

#include <omp.h>

#ifndef __clang__
int omp_control_tool(int, int, void *); // gcc's header does not have it
#endif

static int (*set_callback)(int, ompt_function_t);
static int (*get_callback)(int, ompt_function_t *);
static ompt_data_t *(*get_thread_data)(void);
static int (*get_task_info)(int, int *, ompt_data_t **, ompt_frame_t **, ompt_data_t **, int *);
static int (*get_parallel_info)(int, ompt_data_t **, int *);
static uint64_t (*get_unique_id)(void);
static int (*get_state)(uint64_t *);

enum { EVENTS = 40 };
enum { TURNS = 50 };
static int begun[EVENTS], ended[EVENTS], has_initialized;
static int awaited[MUTEX_KINDS], acquired[MUTEX_KINDS], released[MUTEX_KINDS];
static int created, completed, undeferred;
static uint64_t parallel_now;

static void count(int *counter) { __atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST); }
static int seen(int *counter) { return __atomic_load_n(counter, __ATOMIC_SEQ_CST); }

static void on_thread_begin(int kind, ompt_data_t *thread) {
    CHECK(kind == 1 || kind == 2);
    CHECK(thread == get_thread_data() && thread->ptr == NULL);
    thread->value = get_unique_id();
    count(&begun[THREAD_BEGIN]);
}

static void on_thread_end(ompt_data_t *thread) {
    CHECK(thread == get_thread_data() && thread->value != 0);
    count(&ended[THREAD_BEGIN]);
}

static void on_parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *parallel,
                              unsigned requested, int flags, const void *code) {
    CHECK(task != NULL && frame->enter_frame.ptr != NULL && code != NULL && requested > 0 && flags != 0);
    CHECK(parallel->ptr == NULL);
    parallel->value = parallel_now = get_unique_id();
    count(&begun[PARALLEL_BEGIN]);
}

static void on_parallel_end(ompt_data_t *parallel, ompt_data_t *task, int flags, const void *code) {
    CHECK(parallel->value != 0 && task != NULL && flags != 0 && code != NULL);
    count(&ended[PARALLEL_BEGIN]);
}

static void on_implicit_task(int endpoint, ompt_data_t *parallel, ompt_data_t *task, unsigned size,
                             unsigned number, int flags) {
    if ((flags & KIND_INITIAL) != 0) {
        return;
    }
    CHECK((flags & KIND_IMPLICIT) != 0);
    if (endpoint == SCOPE_BEGIN) {
        CHECK(task->ptr == NULL && parallel->value == parallel_now && number < size);
        task->value = 1000 + number;
        count(&begun[IMPLICIT_TASK]);
    } else {
        CHECK_EQUAL(task->value, 1000 + number);
        count(&ended[IMPLICIT_TASK]);
    }
}

static void on_task_create(ompt_data_t *encountering, const ompt_frame_t *frame, ompt_data_t *task, int flags,
                           int has_dependences, const void *code) {
    (void)has_dependences;
    CHECK(encountering->value >= 1000 && task->ptr == NULL && frame->enter_frame.ptr != NULL && code != NULL);
    CHECK((flags & KIND_EXPLICIT) != 0);
    task->value = 5;
    count(&created);
    if ((flags & KIND_UNDEFERRED) != 0) {
        count(&undeferred);
    }
}

static void on_task_schedule(ompt_data_t *prior, int status, ompt_data_t *next) {
    CHECK(next != NULL);
    if (status == STATUS_COMPLETE) {
        CHECK_EQUAL(prior->value, 5);
        count(&completed);
    } else {
        CHECK_EQUAL(status, STATUS_SWITCH);
        CHECK_EQUAL(next->value, 5);
    }
}

static void on_sync(int kind, int endpoint, ompt_data_t *parallel, ompt_data_t *task, const void *code) {
    (void)parallel, (void)code;
    CHECK(kind >= 1 && kind <= 10 && task != NULL);
    count(endpoint == SCOPE_BEGIN ? &begun[SYNC_REGION] : &ended[SYNC_REGION]);
}

static void on_wait(int kind, int endpoint, ompt_data_t *parallel, ompt_data_t *task, const void *code) {
    (void)kind, (void)parallel, (void)code;
    CHECK(task != NULL);
    count(endpoint == SCOPE_BEGIN ? &begun[SYNC_REGION_WAIT] : &ended[SYNC_REGION_WAIT]);
}

static void on_acquire(int kind, unsigned hint, unsigned impl, uint64_t lock, const void *code) {
    (void)hint;
    CHECK(impl != 0 && lock != 0 && code != NULL);
    CHECK(kind > 0 && kind < MUTEX_KINDS);
    count(&awaited[kind]);
}

static void on_acquired(int kind, uint64_t lock, const void *code) {
    CHECK(lock != 0 && code != NULL);
    count(&acquired[kind]);
}

static void on_released(int kind, uint64_t lock, const void *code) {
    CHECK(lock != 0 && code != NULL);
    count(&released[kind]);
}

static void register_one(int event, ompt_function_t function) {
    CHECK(set_callback(event, function) >= SET_SOMETIMES);
}

static int initialize(ompt_lookup_t lookup, int device, ompt_data_t *data) {
    static const char *const names[] = {
        "enumerate_states",   "enumerate_mutex_impls", "get_num_procs", "get_num_places",
        "get_place_proc_ids", "get_place_num",         "get_proc_id",   "get_task_memory",
        "get_target_info",    "get_num_devices",       "finalize_tool", "get_partition_place_nums"};
    for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
        char name[64];
        snprintf(name, sizeof name, "ompt_%s", names[index]);
        CHECK(lookup(name) != NULL);
    }
    CHECK(lookup("ompt_no_such_function") == NULL);
    CHECK(device == 0 && data->value == 77);
    set_callback = (int (*)(int, ompt_function_t))lookup("ompt_set_callback");
    get_callback = (int (*)(int, ompt_function_t *))lookup("ompt_get_callback");
    get_thread_data = (ompt_data_t * (*)(void)) lookup("ompt_get_thread_data");
    get_task_info = (int (*)(int, int *, ompt_data_t **, ompt_frame_t **, ompt_data_t **, int *))lookup(
        "ompt_get_task_info");
    get_parallel_info = (int (*)(int, ompt_data_t **, int *))lookup("ompt_get_parallel_info");
    get_unique_id = (uint64_t(*)(void))lookup("ompt_get_unique_id");
    get_state = (int (*)(uint64_t *))lookup("ompt_get_state");
    register_one(THREAD_BEGIN, (ompt_function_t)on_thread_begin);
    register_one(THREAD_END, (ompt_function_t)on_thread_end);
    register_one(PARALLEL_BEGIN, (ompt_function_t)on_parallel_begin);
    register_one(PARALLEL_END, (ompt_function_t)on_parallel_end);
    register_one(IMPLICIT_TASK, (ompt_function_t)on_implicit_task);
    register_one(TASK_CREATE, (ompt_function_t)on_task_create);
    register_one(TASK_SCHEDULE, (ompt_function_t)on_task_schedule);
    register_one(SYNC_REGION, (ompt_function_t)on_sync);
    register_one(SYNC_REGION_WAIT, (ompt_function_t)on_wait);
    register_one(MUTEX_ACQUIRE, (ompt_function_t)on_acquire);
    register_one(MUTEX_ACQUIRED, (ompt_function_t)on_acquired);
    register_one(MUTEX_RELEASED, (ompt_function_t)on_released);
    CHECK_EQUAL(set_callback(TARGET, (ompt_function_t)on_released), SET_NEVER);
    CHECK_EQUAL(set_callback(1000, (ompt_function_t)on_released), SET_ERROR);
    has_initialized = 1;
    return 1;
}

// The last thing that happens: all that has begun has ended.
static void finalize(ompt_data_t *data) {
    CHECK_EQUAL(data->value, 77);
    for (int event = 0; event < EVENTS; event++) {
        CHECK_EQUAL(seen(&begun[event]), seen(&ended[event]));
    }
    CHECK(begun[THREAD_BEGIN] >= 1 && created == completed);
    puts("finalized");
    fflush(stdout);
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime) {
    static ompt_start_tool_result_t result = {initialize, finalize, {77}};
    CHECK(version >= 201811 && runtime != NULL);
    return &result;
}

static void check_where_i_am(int size) {
    int kind, number, members;
    ompt_data_t *task, *parallel, *same;
    ompt_frame_t *frame;
    CHECK_EQUAL(get_task_info(0, &kind, &task, &frame, &parallel, &number), 2);
    CHECK((kind & KIND_IMPLICIT) != 0 && number == omp_get_thread_num());
    CHECK_EQUAL(task->value, 1000 + number);
    CHECK(frame->exit_frame.ptr != NULL && frame->enter_frame.ptr == NULL);
    CHECK_EQUAL(get_parallel_info(0, &same, &members), 2);
    CHECK(same == parallel && members == size && parallel->value == parallel_now);
    CHECK_EQUAL(get_task_info(1, &kind, &task, &frame, &parallel, &number), 2);
    CHECK((kind & KIND_INITIAL) != 0 && frame->enter_frame.ptr != NULL);
    CHECK_EQUAL(get_task_info(2, NULL, NULL, NULL, NULL, NULL), 0);
    CHECK_EQUAL(get_state(NULL), 1);
}

static void regions(int size) {
    int before = begun[IMPLICIT_TASK], regions_before = begun[PARALLEL_BEGIN];
    for (int round = 0; round < 3; round++) {
#pragma omp parallel num_threads(size)
        {
            check_where_i_am(size);
#pragma omp barrier
            check_where_i_am(size);
        }
    }
    CHECK_EQUAL(begun[PARALLEL_BEGIN], regions_before + 3);
    CHECK_EQUAL(ended[PARALLEL_BEGIN], regions_before + 3);
    CHECK_EQUAL(begun[IMPLICIT_TASK], before + 3 * size);
}

static void tasks(int size) {
    enum { TASKS = 200 };
    int before = created, sum = 0, undeferred_before = undeferred;
#pragma omp parallel num_threads(size)
#pragma omp single
    {
        for (int index = 0; index < TASKS; index++) {
#pragma omp task shared(sum)
            {
                int kind;
                ompt_data_t *task;
                CHECK_EQUAL(get_task_info(0, &kind, &task, NULL, NULL, NULL), 2);
                CHECK((kind & KIND_EXPLICIT) != 0 && task->value == 5);
                count(&sum);
            }
        }
#pragma omp taskwait
        CHECK_EQUAL(sum, TASKS);
        int done = completed;
        CHECK_EQUAL(done, before + TASKS);
#pragma omp task if (0) shared(sum)
        count(&sum);
        CHECK_EQUAL(completed, done + 1);
    }
    CHECK_EQUAL(sum, TASKS + 1);
    CHECK_EQUAL(created, before + TASKS + 1);
    CHECK(undeferred > undeferred_before);
}

// Each turn with a mutex of the kind so far.
static int turns_of(int kind) {
    CHECK_EQUAL(acquired[kind], awaited[kind]);
    CHECK_EQUAL(released[kind], acquired[kind]);
    return acquired[kind];
}

// The tool learns of each turn: of the first, of those in a row, and of those that wait.
static void locks(int size) {
    int before = turns_of(MUTEX_LOCK), critical_before = turns_of(MUTEX_CRITICAL);
    int in_lock = 0, in_critical = 0, in_named = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(size)
    for (int turn = 0; turn < TURNS; turn++) {
        omp_set_lock(&lock);
        in_lock++;
        omp_unset_lock(&lock);
#pragma omp critical
        in_critical++;
#pragma omp critical(named)
        in_named++;
    }
    CHECK_EQUAL(in_lock, size * TURNS);
    CHECK_EQUAL(in_critical, size * TURNS);
    CHECK_EQUAL(in_named, size * TURNS);
    CHECK_EQUAL(turns_of(MUTEX_LOCK), before + size * TURNS);
    CHECK_EQUAL(turns_of(MUTEX_CRITICAL), critical_before + 2 * size * TURNS);
    CHECK(omp_test_lock(&lock));
    CHECK(!omp_test_lock(&lock));
    omp_unset_lock(&lock);
    CHECK_EQUAL(awaited[MUTEX_LOCK], before + size * TURNS + 2);
    CHECK_EQUAL(acquired[MUTEX_LOCK], before + size * TURNS + 1);
    CHECK_EQUAL(released[MUTEX_LOCK], before + size * TURNS + 1);
    awaited[MUTEX_LOCK]--;
    omp_destroy_lock(&lock);
}

static void ordered(int size) {
    int before = turns_of(MUTEX_ORDERED), next = 0;
#pragma omp parallel for ordered schedule(static, 1) num_threads(size)
    for (int i = 0; i < TURNS; i++) {
#pragma omp ordered
        CHECK_EQUAL(next++, i);
    }
    CHECK_EQUAL(turns_of(MUTEX_ORDERED), before + TURNS);
}

int main(void) {
    int size = omp_get_max_threads();
    CHECK(has_initialized);
    CHECK_EQUAL(omp_control_tool(1, 0, NULL), -1);
    regions(1);
    regions(size);
    tasks(1);
    tasks(size);
    locks(1);
    locks(size);
    ordered(1);
    ordered(size);
    ompt_function_t function;
    CHECK(get_callback(PARALLEL_BEGIN, &function) == 1 && function == (ompt_function_t)on_parallel_begin);
    CHECK_EQUAL(set_callback(PARALLEL_BEGIN, NULL), SET_ALWAYS);
    CHECK_EQUAL(get_callback(PARALLEL_BEGIN, &function), 0);
    CHECK_EQUAL(set_callback(PARALLEL_BEGIN, (ompt_function_t)on_parallel_begin), SET_ALWAYS);
    puts("events");
    return 0;
}
