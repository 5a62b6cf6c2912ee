// SPDX-License-Identifier: Apache-2.0 OR MIT
// The functions that a tool can call, by name (OpenMP 5.2, section 19.6), but for those about tasks and
// regions (inquiry.cpp).
#include <cstring>

#include "core/places.h"
#include "inquiry.h"

extern "C" int omp_get_num_devices();
extern "C" int sched_getcpu();

namespace hadal::omp::ompt {

namespace {

// Also for threads that OpenMP does not know, and which it is not to know because of this.
int get_num_procs() { return static_cast<int>(usable_cpu_count()); }

struct Name {
    uint32_t number;
    const char *name;
};

constexpr Name STATES[] = {
    {static_cast<uint32_t>(State::WorkSerial), "ompt_state_work_serial"},
    {static_cast<uint32_t>(State::WorkParallel), "ompt_state_work_parallel"},
    {static_cast<uint32_t>(State::WorkReduction), "ompt_state_work_reduction"},
    {static_cast<uint32_t>(State::WaitBarrierImplicitParallel), "ompt_state_wait_barrier_implicit_parallel"},
    {static_cast<uint32_t>(State::WaitBarrierImplicitWorkshare),
     "ompt_state_wait_barrier_implicit_workshare"},
    {static_cast<uint32_t>(State::WaitBarrierExplicit), "ompt_state_wait_barrier_explicit"},
    {static_cast<uint32_t>(State::WaitBarrierImplementation), "ompt_state_wait_barrier_implementation"},
    {static_cast<uint32_t>(State::WaitBarrierTeams), "ompt_state_wait_barrier_teams"},
    {static_cast<uint32_t>(State::WaitTaskwait), "ompt_state_wait_taskwait"},
    {static_cast<uint32_t>(State::WaitTaskgroup), "ompt_state_wait_taskgroup"},
    {static_cast<uint32_t>(State::WaitLock), "ompt_state_wait_lock"},
    {static_cast<uint32_t>(State::WaitCritical), "ompt_state_wait_critical"},
    {static_cast<uint32_t>(State::WaitAtomic), "ompt_state_wait_atomic"},
    {static_cast<uint32_t>(State::WaitOrdered), "ompt_state_wait_ordered"},
    {static_cast<uint32_t>(State::Idle), "ompt_state_idle"},
    {static_cast<uint32_t>(State::Overhead), "ompt_state_overhead"},
    {static_cast<uint32_t>(State::Undefined), "ompt_state_undefined"},
};

// The first one comes after "undefined", which is what tools begin with.
int enumerate_states(int current_state, int *next, const char **name) {
    constexpr size_t count = sizeof STATES / sizeof *STATES - 1;
    size_t index = 0;
    if (static_cast<uint32_t>(current_state) != static_cast<uint32_t>(State::Undefined)) {
        while (index < count && STATES[index].number != static_cast<uint32_t>(current_state)) {
            index++;
        }
        index++;
    }
    if (index >= count) {
        return 0;
    }
    *next = static_cast<int>(STATES[index].number);
    *name = STATES[index].name;
    return 1;
}

int enumerate_mutex_impls(int impl, int *next, const char **name) {
    if (impl != 0) {
        return 0;
    }
    *next = static_cast<int>(MUTEX_IMPL);
    *name = "hadal_spin_yield_sleep";
    return 1;
}

// Which events the run-time tells, and whether every time.
int result_of(uint32_t event) {
    switch (static_cast<Event>(event)) {
    case Event::ThreadBegin:
    case Event::ThreadEnd:
    case Event::ParallelBegin:
    case Event::ParallelEnd:
    case Event::TaskCreate:
    case Event::TaskSchedule:
    case Event::ImplicitTask:
    case Event::ControlTool:
    case Event::SyncRegion:
    case Event::SyncRegionWait:
    case Event::MutexAcquire:
    case Event::MutexAcquired:
    case Event::MutexReleased:
    case Event::NestLock:
    case Event::LockInit:
    case Event::LockDestroy:
    case Event::Dependences:
    case Event::TaskDependence:
    case Event::Cancel:
    case Event::Error:
        return SET_ALWAYS;
    // Compilers do some of these by themselves.
    case Event::Work:
    case Event::Masked:
    case Event::Reduction:
    case Event::Flush:
        return SET_SOMETIMES;
    default:
        return SET_NEVER;
    }
}

int set_callback(int event, Function callback) {
    uint32_t index = static_cast<uint32_t>(event);
    if (event <= 0 || index >= EVENTS) {
        return SET_ERROR;
    }
    int result = result_of(index);
    if (result != SET_NEVER) {
        HRT_STORE(&callbacks[index], callback, HRT_RELEASE);
    }
    return result;
}

int get_callback(int event, Function *callback) {
    uint32_t index = static_cast<uint32_t>(event);
    if (event <= 0 || index >= EVENTS || !enabled) {
        return 0;
    }
    *callback = HRT_LOAD(&callbacks[index], HRT_ACQUIRE);
    return *callback != nullptr;
}

// Each thread has numbers of its own, so that nobody waits for another. They have as many digits as others',
// for tools that sort by them as texts.
uint64_t get_unique_id() {
    constexpr uint64_t PER_THREAD = 1ull << 40;
    static uint64_t threads = PER_THREAD;
    static thread_local constinit uint64_t next = 0;
    if (next == 0) {
        next = HRT_FETCH_ADD(&threads, PER_THREAD, HRT_RELAXED) + 1;
    }
    return next++;
}

int get_num_places() { return static_cast<int>(place_count()); }

int get_place_proc_ids(int place, int size, int *ids) {
    const cpu_set_t *cpus = cpus_of_place(place);
    int count = 0;
    for (int cpu = 0; cpus != nullptr && cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(static_cast<size_t>(cpu), cpus)) {
            if (count < size) {
                ids[count] = cpu;
            }
            count++;
        }
    }
    return count;
}

int get_place_num() {
    const Member *me = enabled ? current : nullptr;
    return me != nullptr ? me->place : -1;
}

int get_partition_place_nums(int size, int *places) {
    const Member *me = enabled ? current : nullptr;
    if (me == nullptr) {
        return 0;
    }
    int count = static_cast<int>(me->partition.count);
    for (int index = 0; index < count && index < size; index++) {
        places[index] = static_cast<int>(me->partition.first) + index;
    }
    return count;
}

int get_proc_id() { return enabled && current != nullptr ? sched_getcpu() : -1; }

// Nothing of this process runs on a device that OpenMP offloads to.
int get_target_info(uint64_t *, uint64_t *, uint64_t *) { return 0; }

struct Entry {
    const char *name;
    Function function;
};

#define ENTRY(name)                                                                                          \
    { "ompt_" #name, reinterpret_cast<Function>(name) }

} // namespace

Function lookup(const char *name) {
    const Entry entries[] = {
        ENTRY(enumerate_states),
        ENTRY(enumerate_mutex_impls),
        ENTRY(set_callback),
        ENTRY(get_callback),
        ENTRY(get_thread_data),
        {"ompt_get_num_procs", reinterpret_cast<Function>(get_num_procs)},
        ENTRY(get_num_places),
        ENTRY(get_place_proc_ids),
        ENTRY(get_place_num),
        ENTRY(get_partition_place_nums),
        ENTRY(get_proc_id),
        ENTRY(get_state),
        ENTRY(get_parallel_info),
        ENTRY(get_task_info),
        ENTRY(get_task_memory),
        ENTRY(get_target_info),
        {"ompt_get_num_devices", reinterpret_cast<Function>(omp_get_num_devices)},
        ENTRY(get_unique_id),
        {"ompt_finalize_tool", reinterpret_cast<Function>(finalize)},
    };
    for (const Entry &entry : entries) {
        if (strcmp(entry.name, name) == 0) {
            return entry.function;
        }
    }
    return nullptr;
}

} // namespace hadal::omp::ompt
