// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the readers of environment variables share.
#ifndef HADAL_OMP_ENVIRONMENT_H
#define HADAL_OMP_ENVIRONMENT_H

#include <cstdint>

#include "core/icv.h"
#include "core/message.h"
#include "core/text.h"

namespace hadal::omp {

// The value of a variable; null if it is not set, or blank. Variables of the standard may have the suffix
// _ALL: for the host, too, if the plain one is not set.
const char *variable(const char *name);

// Says that a value is not what it has to be (`wanted`: a noun), and what is used instead; printf's format.
[[gnu::format(printf, 4, 5)]] void bad_value(const char *name, const char *value, const char *wanted,
                                             const char *instead, ...);
// Says anything else about the environment; not with KMP_WARNINGS=false.
[[gnu::format(printf, 1, 2)]] void remark(const char *format, ...);
[[gnu::format(printf, 2, 3)]] void remark(Warning number, const char *format, ...);
void set_remarks(bool on);

// A variable with one value. Each returns whether it is set and right, and leaves `*value` alone if not.
bool read_bool(const char *name, bool *value);
bool read_number(const char *name, uint64_t least, uint64_t most, uint32_t *value);

// Whether the program has been made for LLVM's run-time: gcc's reads the environment when the program is
// loaded, LLVM's when the program uses it for the first time, which may have changed variables before.
bool stands_for_libomp();

// By topic; the machine first, which others depend on.
void read_hw_subset();
void read_threads();
void read_schedule();
void read_waiting();
void read_stack();
void read_binding();
void read_affinity_format();
void read_memory();
void read_device();
void set_offload(const char *value); // of OMP_TARGET_OFFLOAD
void read_tools();
void read_of_others(); // the rest of other run-times' variables

// All settings, to standard error, as OMP_DISPLAY_ENV says.
// `is_named`: a list of places that has a name by that.
void display_environment(bool is_verbose, bool is_named = false);
// KMP_SETTINGS: the variables that the user has set, and the headline of those in effect.
void display_user_settings();

// Words for values.
const char *bind_name(Bind bind);
const char *schedule_name(ScheduleKind kind);

} // namespace hadal::omp

#endif
