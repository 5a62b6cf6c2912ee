// SPDX-License-Identifier: Apache-2.0 OR MIT
// OMP_SCHEDULE: [monotonic: | nonmonotonic:] static | dynamic | guided | auto [, chunk]; and two names of
// libomp's.
#include "environment.h"

#include <climits>

namespace hadal::omp {

namespace {

struct Name {
    const char *name;
    ScheduleKind kind;
};
// The usual name of a kind is the last one.
constexpr Name NAMES[] = {{"static_steal", ScheduleKind::Dynamic},
                          {"static", ScheduleKind::Static},
                          {"dynamic", ScheduleKind::Dynamic},
                          {"guided", ScheduleKind::Guided},
                          {"auto", ScheduleKind::Auto},
                          {"trapezoidal", ScheduleKind::Trapezoidal}};

bool take_kind(Text *text, ScheduleKind *kind) {
    for (const Name &each : NAMES) {
        if (text->take_word(each.name)) {
            *kind = each.kind;
            return true;
        }
    }
    return false;
}

bool read(const char *value, Schedule *schedule) {
    Text text(value);
    bool is_monotonic = text.take_word("monotonic"),
         is_nonmonotonic = !is_monotonic && text.take_word("nonmonotonic");
    if ((is_monotonic || is_nonmonotonic) && !text.take(':')) {
        return false;
    }
    schedule->monotonic = is_monotonic;
    if (!take_kind(&text, &schedule->kind)) {
        return false;
    }
    if (text.take(',')) {
        uint64_t chunk;
        if (!text.take_number(&chunk) || chunk == 0) {
            return false;
        }
        // Programs ask for it as an int.
        schedule->chunk = chunk > INT_MAX ? INT_MAX : static_cast<int64_t>(chunk);
        if (schedule->kind == ScheduleKind::Auto) {
            schedule->chunk = 0;
        }
    }
    return text.is_over();
}

} // namespace

const char *schedule_name(ScheduleKind kind) {
    const char *name = nullptr;
    for (const Name &each : NAMES) {
        name = each.kind == kind ? each.name : name;
    }
    return name;
}

void read_schedule() {
    const char *value = variable("OMP_SCHEDULE");
    if (value == nullptr) {
        // Loops with schedule(runtime) are static in LLVM's run-time then, and dynamic in gcc's.
        if (stands_for_libomp()) {
            settings.icvs.run_schedule.kind = ScheduleKind::Static;
        }
        return;
    }
    Schedule schedule;
    if (read(value, &schedule)) {
        settings.icvs.run_schedule = schedule;
    } else {
        bad_value("OMP_SCHEDULE", value, "a schedule, such as dynamic,4", "%s",
                  schedule_name(settings.icvs.run_schedule.kind));
    }
}

} // namespace hadal::omp
