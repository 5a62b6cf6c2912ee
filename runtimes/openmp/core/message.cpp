// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the run-time says to the user: one line on standard error.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include "team.h"

namespace hadal::omp {

namespace {

void say(const char *format, va_list arguments) {
    char line[512] = "OpenMP: ";
    constexpr int prefix = 8;
    int len = prefix + vsnprintf(line + prefix, sizeof line - prefix - 1, format, arguments);
    if (len > static_cast<int>(sizeof line) - 2) {
        len = sizeof line - 2;
    }
    line[len++] = '\n';
    // Nothing can be done about a closed standard error.
    [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line, static_cast<size_t>(len));
}

} // namespace

void warn(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

void fatal(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
    exit(1);
}

} // namespace hadal::omp
