// SPDX-License-Identifier: Apache-2.0 OR MIT
// The search for a tool: what it is called with, and the log of it.
#ifndef HADAL_OMP_OMPT_SEARCH_H
#define HADAL_OMP_OMPT_SEARCH_H

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "api/environment.h"
#include "types.h"

namespace hadal::omp::ompt {

inline constexpr unsigned OMP_VERSION = 202111;
inline constexpr const char *RUNTIME_VERSION = "Hadal OpenMP run-time";

// OMP_TOOL_VERBOSE_INIT: where to say what is done.
class Log {
  public:
    Log() {
        const char *value = variable("OMP_TOOL_VERBOSE_INIT");
        if (value == nullptr || strcasecmp(value, "disabled") == 0) {
            return;
        }
        file = strcasecmp(value, "stdout") == 0   ? stdout
               : strcasecmp(value, "stderr") == 0 ? stderr
                                                  : nullptr;
        if (file == nullptr) {
            file = fopen(value, "w");
            is_own = file != nullptr;
        }
        say("----- START LOGGING OF TOOL REGISTRATION -----\n");
    }
    ~Log() {
        say("----- END LOGGING OF TOOL REGISTRATION -----\n");
        if (is_own) {
            fclose(file);
        }
    }
    Log(const Log &) = delete;
    Log &operator=(const Log &) = delete;

    [[gnu::format(printf, 2, 3)]] void say(const char *format, ...) {
        if (file != nullptr) {
            va_list arguments;
            va_start(arguments, format);
            vfprintf(file, format, arguments);
            va_end(arguments);
        }
    }

  private:
    FILE *file = nullptr;
    bool is_own = false;
};

// The same for the libraries that OMP_TOOL_LIBRARIES names. Weak: an image is static, and has this file
// (libraries.cpp) with what it needs of the C library only if it is linked for that, by this name.
extern "C" [[gnu::weak]] StartResult *hadal_omp_search_libraries(const char *list, Log &log);

} // namespace hadal::omp::ompt

#endif
