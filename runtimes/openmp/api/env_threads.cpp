// SPDX-License-Identifier: Apache-2.0 OR MIT
// How many threads, teams and levels: OMP_NUM_THREADS, OMP_THREAD_LIMIT, OMP_DYNAMIC, OMP_NESTED,
// OMP_MAX_ACTIVE_LEVELS, OMP_NUM_TEAMS, OMP_TEAMS_THREAD_LIMIT, OMP_CANCELLATION, OMP_MAX_TASK_PRIORITY.
#include "environment.h"

#include <climits>

#include "core/places.h"

namespace hadal::omp {

namespace {

bool read_list(const char *value) {
    Text text(value);
    uint32_t len = 0;
    do {
        uint64_t threads;
        if (len == LEVELS_MAX || !text.take_number(&threads) || threads == 0 || threads == UINT64_MAX) {
            return false; // nobody means so many
        }
        if (threads >= THREADS_MAX) {
            remark("OMP_NUM_THREADS asks for %llu threads, a program can have %u",
                   static_cast<unsigned long long>(threads), THREADS_MAX - 1);
            threads = THREADS_MAX - 1;
        }
        settings.thread_lists[len++] = static_cast<uint32_t>(threads);
    } while (text.take(','));
    settings.thread_list_len = len;
    return text.is_over();
}

void read_limits() {
    Icvs &icvs = settings.icvs;
    if (!read_number("OMP_THREAD_LIMIT", 1, INT_MAX, &icvs.thread_limit)) {
        // Two names of the same.
        if (!read_number("KMP_DEVICE_THREAD_LIMIT", 1, INT_MAX, &icvs.thread_limit)) {
            read_number("KMP_ALL_THREADS", 1, INT_MAX, &icvs.thread_limit);
        }
    }
    uint32_t cpus = usable_cpu_count();
    icvs.threads = cpus < icvs.thread_limit ? cpus : icvs.thread_limit;
}

void read_num_threads() {
    Icvs &icvs = settings.icvs;
    const char *value = variable("OMP_NUM_THREADS");
    if (value != nullptr && !read_list(value)) {
        settings.thread_list_len = 0;
        bad_value("OMP_NUM_THREADS", value, "a list of positive numbers", "%u", icvs.threads);
    }
    if (settings.thread_list_len > 0) {
        icvs.threads = settings.thread_lists[0];
    }
    if (const char *library = variable("KMP_LIBRARY")) {
        // The other words are about waiting.
        if (Text(library).take_word("serial")) {
            icvs.threads = 1;
            icvs.thread_limit = 1;
        }
    }
}

// A list in one of the variables shows that nested regions are to be active.
uint32_t levels_of_list(const char *name) {
    const char *value = variable(name);
    return value != nullptr && strchr(value, ',') != nullptr ? ACTIVE_LEVELS_MAX : 1;
}

void read_levels() {
    uint32_t &levels = settings.icvs.max_active_levels;
    uint32_t by_threads = settings.thread_list_len > 1 ? ACTIVE_LEVELS_MAX : 1;
    uint32_t by_bind = levels_of_list("OMP_PROC_BIND");
    levels = by_threads > by_bind ? by_threads : by_bind;
    bool is_nested = levels > 1;
    if (read_bool("OMP_NESTED", &is_nested)) {
        levels = is_nested ? ACTIVE_LEVELS_MAX : 1;
    }
    read_number("OMP_MAX_ACTIVE_LEVELS", 0, ACTIVE_LEVELS_MAX, &levels);
}

} // namespace

void read_threads() {
    read_limits();
    read_num_threads();
    read_levels();
    read_bool("OMP_DYNAMIC", &settings.icvs.dynamic);
    read_number("OMP_NUM_TEAMS", 1, INT_MAX, &settings.teams);
    if (!read_number("OMP_TEAMS_THREAD_LIMIT", 1, INT_MAX, &settings.teams_thread_limit)) {
        read_number("KMP_TEAMS_THREAD_LIMIT", 1, INT_MAX, &settings.teams_thread_limit);
    }
    read_bool("OMP_CANCELLATION", &settings.cancellation);
    bool throttles_tasks = true;
    read_bool("KMP_ENABLE_TASK_THROTTLING", &throttles_tasks);
    settings.many_tasks = throttles_tasks ? MANY_TASKS : NEVER_MANY;
    read_number("OMP_MAX_TASK_PRIORITY", 0, INT_MAX, &settings.max_task_priority);
}

} // namespace hadal::omp
