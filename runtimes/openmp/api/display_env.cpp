// SPDX-License-Identifier: Apache-2.0 OR MIT
// OMP_DISPLAY_ENV and omp_display_env: all settings, in the form that the standard gives (OpenMP 5.2, section
// 21.7).
#include <cstdarg>
#include <cstdio>
#include <initializer_list>
#include <unistd.h>

#include "core/allocator.h"
#include "core/places.h"
#include "core/team.h"
#include "environment.h"
#include "routine.h"

namespace hadal::omp {

namespace {

[[gnu::format(printf, 2, 3)]] void show(const char *name, const char *value, ...) {
    fprintf(stderr, "  [host] %s='", name);
    va_list arguments;
    va_start(arguments, value);
    vfprintf(stderr, value, arguments);
    va_end(arguments);
    fputs("'\n", stderr);
}

void show_bool(const char *name, bool value) { show(name, "%s", value ? "TRUE" : "FALSE"); }

void show_upper(const char *name, const char *value, const char *more = "") {
    char upper[32];
    size_t len = 0;
    for (; value[len] != '\0' && len < sizeof upper - 1; len++) {
        upper[len] = static_cast<char>(toupper(static_cast<unsigned char>(value[len])));
    }
    upper[len] = '\0';
    show(name, "%s%s", upper, more);
}

void show_threads() {
    char list[16 * LEVELS_MAX] = {};
    int len = snprintf(list, sizeof list, "%u", settings.icvs.threads);
    for (uint32_t level = 1; level < settings.thread_list_len; level++) {
        len +=
            snprintf(list + len, sizeof list - static_cast<size_t>(len), ",%u", settings.thread_lists[level]);
    }
    show("OMP_NUM_THREADS", "%s", list);
}

void show_schedule() {
    const Schedule &schedule = settings.icvs.run_schedule;
    char kind[32], chunk[24] = {};
    snprintf(kind, sizeof kind, "%s%s", schedule.monotonic ? "monotonic:" : "", schedule_name(schedule.kind));
    if (schedule.chunk > 0) {
        snprintf(chunk, sizeof chunk, ",%lld", static_cast<long long>(schedule.chunk));
    }
    show_upper("OMP_SCHEDULE", kind, chunk);
}

void show_binding(bool is_named) {
    char list[16 * LEVELS_MAX] = {};
    int len = 0;
    for (uint32_t level = 0; level == 0 || level < settings.bind_list_len; level++) {
        for (const char *name = bind_name(settings.bind_list[level]); *name != '\0'; name++) {
            list[len++] = static_cast<char>(toupper(static_cast<unsigned char>(*name)));
        }
        list[len++] = ',';
    }
    list[len - 1] = '\0';
    show("OMP_PROC_BIND", "%s", list);

    if (is_named && place_kind_name() != nullptr) {
        show("OMP_PLACES", "%s", place_kind_name());
        return;
    }
    fputs("  [host] OMP_PLACES='", stderr);
    for (uint32_t place = 0; place < place_count(); place++) {
        const cpu_set_t &cpus = *cpus_of_place(static_cast<int32_t>(place));
        const char *separator = place == 0 ? "{" : ",{";
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            int first = cpu;
            while (cpu < CPU_SETSIZE && CPU_ISSET(static_cast<size_t>(cpu), &cpus)) {
                cpu++;
            }
            if (cpu == first) {
                continue;
            }
            fprintf(stderr, cpu - first == 1 ? "%s%d" : "%s%d:%d", separator, first, cpu - first);
            separator = ",";
        }
        fputc('}', stderr);
    }
    fputs("'\n", stderr);
}

void show_stack() {
    uint64_t bytes = settings.stack_bytes;
    if (bytes % (1 << 20) == 0) {
        show("OMP_STACKSIZE", "%lluM", static_cast<unsigned long long>(bytes >> 20));
    } else if (bytes % (1 << 10) == 0) {
        show("OMP_STACKSIZE", "%lluK", static_cast<unsigned long long>(bytes >> 10));
    } else {
        show("OMP_STACKSIZE", "%lluB", static_cast<unsigned long long>(bytes));
    }
}

void show_waiting() {
    // The standard has two words; a thread that waits for a while and then sleeps is passive.
    show("OMP_WAIT_POLICY", "%s", settings.wait_policy == WaitPolicy::Active ? "ACTIVE" : "PASSIVE");
}

void show_verbose() {
    show_bool("OMP_NESTED", settings.icvs.max_active_levels > 1);
    show("HADAL_OMP_IRQ", "%s", settings.irq_off ? "OFF" : "ON");
    if (settings.wait_policy == WaitPolicy::Active) {
        show("KMP_BLOCKTIME", "infinite");
    } else {
        uint64_t time_ns = settings.wait_policy == WaitPolicy::Passive ? 0 : settings.blocktime_ns;
        show("KMP_BLOCKTIME", "%lluus", static_cast<unsigned long long>(time_ns / 1000));
    }
}

const char *offload_name() {
    switch (settings.offload) {
    case Offload::Mandatory:
        return "MANDATORY";
    case Offload::Disabled:
        return "DISABLED";
    case Offload::Default:
        break;
    }
    return "DEFAULT";
}

} // namespace

void display_user_settings() {
    fputs("\nUser settings:\n", stderr);
    for (char **entry = environ; entry != nullptr && *entry != nullptr; entry++) {
        for (const char *prefix : {"OMP_", "KMP_", "GOMP_", "HADAL_OMP_"}) {
            if (strncmp(*entry, prefix, strlen(prefix)) == 0) {
                fprintf(stderr, "  %s\n", *entry);
            }
        }
    }
    fputs("\nEffective settings:", stderr);
}

void display_environment(bool is_verbose, bool is_named) {
    const Icvs &icvs = settings.icvs;
    flockfile(stderr);
    fputs("\nOPENMP DISPLAY ENVIRONMENT BEGIN\n  _OPENMP='202111'\n", stderr);
    show_bool("OMP_DYNAMIC", icvs.dynamic);
    show_threads();
    show_schedule();
    show_binding(is_named);
    show_stack();
    show_waiting();
    show("OMP_THREAD_LIMIT", "%d", to_int(icvs.thread_limit));
    show("OMP_MAX_ACTIVE_LEVELS", "%u", icvs.max_active_levels);
    show("OMP_NUM_TEAMS", "%u", settings.teams);
    show("OMP_TEAMS_THREAD_LIMIT", "%u", settings.teams_thread_limit);
    show_bool("OMP_CANCELLATION", settings.cancellation);
    show("OMP_DEFAULT_DEVICE", "%d", icvs.default_device);
    show("OMP_TARGET_OFFLOAD", "%s", offload_name());
    show("OMP_MAX_TASK_PRIORITY", "%u", settings.max_task_priority);
    show_bool("OMP_DISPLAY_AFFINITY", settings.display_affinity);
    show("OMP_AFFINITY_FORMAT", "%s", settings.affinity_format);
    show("OMP_ALLOCATOR", "%s", allocator_name(settings.icvs.allocator));
    show("OMP_TOOL", "%s", "DISABLED");
    show("OMP_DEBUG", "%s", "DISABLED");
    if (is_verbose) {
        show_verbose();
    }
    fputs("OPENMP DISPLAY ENVIRONMENT END\n", stderr);
    funlockfile(stderr);
}

} // namespace hadal::omp

OMP_EXPORT void omp_display_env(int verbose) {
    hadal::omp::self();
    hadal::omp::display_environment(verbose != 0);
}
OMP_FORTRAN_OF_INT(void, omp_display_env)
