// SPDX-License-Identifier: Apache-2.0 OR MIT
// Control of a tool (OpenMP 5.2, section 18.14).
#include "ompt/ompt.h"
#include "routine.h"

using namespace hadal::omp;

namespace {
constexpr int NO_TOOL = -2; // omp_control_tool_notool
}

OMP_EXPORT int omp_control_tool(int command, int modifier, void *argument) {
    self();
    if (ompt::is_on()) {
        OMPT_NOTE_CALLER();
        return ompt::control(static_cast<uint64_t>(command), static_cast<uint64_t>(modifier), argument);
    }
    return NO_TOOL;
}
OMP_EXPORT int omp_control_tool_(const int32_t *command, const int32_t *modifier, void *argument) {
    self();
    if (ompt::is_on()) {
        OMPT_NOTE_CALLER();
        return ompt::control(static_cast<uint64_t>(*command), static_cast<uint64_t>(*modifier), argument);
    }
    return NO_TOOL;
}
