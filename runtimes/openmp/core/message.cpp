// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the run-time says to the user: one line on standard error, which begins as clang's users know it.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include "message.h"

namespace hadal::omp {

namespace {

void say(const char *kind, Warning number, const char *format, va_list arguments) {
    char line[512];
    constexpr int LEN_MAX = sizeof line - 2; // the line's end has room behind it
    int len = snprintf(line, sizeof line, "OMP: %s", kind);
    if (number != Warning::Unnumbered) {
        len += snprintf(line + len, sizeof line - static_cast<size_t>(len), " #%u",
                        static_cast<uint32_t>(number));
    }
    len += snprintf(line + len, sizeof line - static_cast<size_t>(len), ": ");
    len += vsnprintf(line + len, sizeof line - static_cast<size_t>(len), format, arguments);
    len = len < LEN_MAX ? len : LEN_MAX;
    line[len++] = '\n';
    // Nothing can be done about a closed standard error.
    [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line, static_cast<size_t>(len));
}

} // namespace

void warn(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say("Warning", Warning::Unnumbered, format, arguments);
    va_end(arguments);
}

void warn(Warning number, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say("Warning", number, format, arguments);
    va_end(arguments);
}

void fatal(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say("Error", Warning::Unnumbered, format, arguments);
    va_end(arguments);
    exit(1);
}

} // namespace hadal::omp
