// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the run-time says to the user.
#ifndef HADAL_OMP_MESSAGE_H
#define HADAL_OMP_MESSAGE_H

#include <cstdint>

namespace hadal::omp {

// Warnings that users may know from LLVM's run-time carry its number, by which they search the web and filter
// logs (openmp/runtime/src/i18n/en_US.txt counts them).
enum class Warning : uint32_t {
    Unnumbered = 0,
    ValueTooSmall = 40,
    ValueTooLarge = 41,
    ValueInvalid = 42,
    FewerThreads = 96,
};

// One line on standard error; printf's format.
[[gnu::format(printf, 1, 2)]] void warn(const char *format, ...);
[[gnu::format(printf, 2, 3)]] void warn(Warning number, const char *format, ...);
// Ends the program with a message.
[[noreturn, gnu::format(printf, 1, 2)]] void fatal(const char *format, ...);

} // namespace hadal::omp

#endif
