// SPDX-License-Identifier: Apache-2.0 OR MIT
// OMP_SCHEDULE: [monotonic: | nonmonotonic:] static | dynamic | guided | auto [, chunk].
#include "environment.h"

#include <climits>

namespace hadal::omp {

namespace {

constexpr const char *NAMES[] = {"runtime", "static", "dynamic", "guided", "auto"};

bool read(const char *value, Schedule *schedule) {
    Text text(value);
    bool is_monotonic = text.take_word("monotonic"),
         is_nonmonotonic = !is_monotonic && text.take_word("nonmonotonic");
    if ((is_monotonic || is_nonmonotonic) && !text.take(':')) {
        return false;
    }
    schedule->monotonic = is_monotonic;
    uint32_t kind = static_cast<uint32_t>(ScheduleKind::Static);
    while (!text.take_word(NAMES[kind])) {
        if (++kind > static_cast<uint32_t>(ScheduleKind::Auto)) {
            return false;
        }
    }
    schedule->kind = static_cast<ScheduleKind>(kind);
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

const char *schedule_name(ScheduleKind kind) { return NAMES[static_cast<uint32_t>(kind)]; }

void read_schedule() {
    const char *value = variable("OMP_SCHEDULE");
    if (value == nullptr) {
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
