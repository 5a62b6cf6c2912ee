// SPDX-License-Identifier: Apache-2.0 OR MIT
// Control of a tool: there is no interface for tools, so there is none.
#include "routine.h"

namespace {
constexpr int NO_TOOL = -2; // omp_control_tool_notool
}

OMP_EXPORT int omp_control_tool(int, int, void *) { return NO_TOOL; }
OMP_EXPORT int omp_control_tool_(const int32_t *, const int32_t *, void *) { return NO_TOOL; }
