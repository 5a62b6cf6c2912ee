// SPDX-License-Identifier: Apache-2.0 OR MIT
// Internal control variables (OpenMP 5.2, chapter 2).
#ifndef HADAL_OMP_ICV_H
#define HADAL_OMP_ICV_H

#include <cstddef>
#include <cstdint>

namespace hadal::omp {

// omp_sched_t without its modifier. Trapezoidal: of libomp, the same as guided but for its name.
enum class ScheduleKind : uint32_t {
    Runtime = 0,
    Static = 1,
    Dynamic = 2,
    Guided = 3,
    Auto = 4,
    Trapezoidal = 101
};

struct Schedule {
    ScheduleKind kind = ScheduleKind::Dynamic;
    bool monotonic = false;
    int64_t chunk = 0; // 0: the default of the kind
};

// omp_proc_bind_t.
enum class Bind : uint8_t { False = 0, True = 1, Primary = 2, Close = 3, Spread = 4 };

// Consecutive places of the list: place-partition-var, an ICV of implicit tasks.
struct Partition {
    uint32_t first = 0, count = 0;
};

// Of a data environment: each task has its own, which are those of the task that generates it until it
// changes them (`icvs_to_change`).
struct Icvs {
    Schedule run_schedule;
    uint32_t threads = 1; // nthreads-var: threads of the next parallel region
    uint32_t thread_limit = UINT32_MAX;
    uint32_t max_active_levels = 1;
    int32_t default_device = 0;
    uintptr_t allocator = 1; // def-allocator-var: omp_default_mem_alloc
    uint32_t nesting = 0;    // place in the lists of Settings: how deep the parallel regions are
    Bind bind = Bind::False;
    bool dynamic = false;
};

enum class WaitPolicy : uint8_t { Hybrid, Active, Passive };

// target-offload-var.
enum class Offload : uint8_t { Default, Disabled, Mandatory };

// omp_invalid_device.
inline constexpr int32_t DEVICE_INVALID = -4;

// Longest lists of numbers in variables such as OMP_NUM_THREADS=8,4,2.
inline constexpr uint32_t LEVELS_MAX = 16;
// More threads than this a program cannot have.
inline constexpr uint32_t THREADS_MAX = 65536;
// omp_get_supported_active_levels().
inline constexpr uint32_t ACTIVE_LEVELS_MAX = 255;

// Tasks that a member queues before it runs the next ones at once; NEVER_MANY: as many as there are.
inline constexpr uint32_t MANY_TASKS = 64, NEVER_MANY = UINT32_MAX;

// Of the device: read from the environment once, then only by calls of the program.
struct Settings {
    Icvs icvs; // of the initial task
    uint32_t thread_lists[LEVELS_MAX] = {};
    uint32_t thread_list_len = 0;
    Bind bind_list[LEVELS_MAX] = {};
    uint32_t bind_list_len = 0;
    uint64_t stack_bytes = 0; // 0: as much as the initial thread has, or 8 MiB
    uint64_t blocktime_ns = 0;
    WaitPolicy wait_policy = WaitPolicy::Hybrid;
    Offload offload = Offload::Default;
    bool cancellation = false;
    bool has_nested_lists = false; // one of the lists has numbers for nested regions
    bool display_affinity = false;
    bool irq_off = false;             // HADAL_OMP_IRQ=off: no interrupts while a region runs
    uint32_t many_tasks = MANY_TASKS; // who has so many queued runs the next ones at once
    uint32_t max_task_priority = 0;
    uint32_t teams = 0; // OMP_NUM_TEAMS
    uint32_t teams_thread_limit = 0;
    Bind teams_bind = Bind::False; // KMP_TEAMS_PROC_BIND; False: not set
    char affinity_format[256] = {};
};

extern Settings settings;

// Reads the environment; called once, before anything else of the run-time (api/environment.cpp).
void read_environment();

} // namespace hadal::omp

#endif
