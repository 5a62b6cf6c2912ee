// SPDX-License-Identifier: Apache-2.0 OR MIT
// The settings, and how they are read from the environment (OpenMP 5.2, chapter 21). The variables are in the
// files env_*.cpp, by topic.
#include "environment.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

#include "core/places.h"
#include "core/team.h"
#include "ompt/ompt.h"

// Of the two front ends. In an image they are there if the program calls them.
extern "C" {
[[gnu::weak]] void __kmpc_fork_call();
[[gnu::weak]] void GOMP_parallel(void (*code)(void *), void *data, unsigned threads, unsigned flags);
}

namespace hadal::omp {

Settings settings;

namespace {

bool has_warnings = true;

// Before anything that programs see: OMP_DISPLAY_ENV is about all programs, also those that meet no region,
// and the initial thread becomes the first that is known. Objects with earlier constructors come here by
// `self`. Programs of clang may change their environment until they use OpenMP.
[[gnu::constructor(101)]] void start_early() {
    if (!stands_for_libomp()) {
        place_root(adopt_early());
    } else if (ompt::may_have_tool()) {
        adopt_early();
    }
}

void remark_list(Warning number, const char *format, va_list arguments) {
    if (!has_warnings) {
        return;
    }
    char line[480];
    vsnprintf(line, sizeof line, format, arguments);
    warn(number, "%s", line);
}

// Of the value, as much as one line can take.
#define VALUE "%.160s"

} // namespace

bool stands_for_libomp() {
    if (__kmpc_fork_call == nullptr || GOMP_parallel == nullptr) {
        return GOMP_parallel == nullptr;
    }
    // The shared library has both: which name does its file have?
    Dl_info info;
    if (dladdr(&settings, &info) == 0 || info.dli_fname == nullptr) {
        return false;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    return strncmp(slash != nullptr ? slash + 1 : info.dli_fname, "libomp.so", 9) == 0;
}

const char *variable(const char *name) {
    const char *value = getenv(name);
    if (value == nullptr && strncmp(name, "OMP_", 4) == 0) {
        char for_all[64];
        snprintf(for_all, sizeof for_all, "%s_ALL", name);
        value = getenv(for_all);
    }
    return value != nullptr && !Text(value).is_over() ? value : nullptr;
}

void bad_value(const char *name, const char *value, const char *wanted, const char *instead, ...) {
    char used[128];
    va_list arguments;
    va_start(arguments, instead);
    vsnprintf(used, sizeof used, instead, arguments);
    va_end(arguments);
    remark(Warning::ValueInvalid, "%s=" VALUE " is not %s: %s is used", name, value, wanted, used);
}

void remark(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    remark_list(Warning::Unnumbered, format, arguments);
    va_end(arguments);
}

void remark(Warning number, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    remark_list(number, format, arguments);
    va_end(arguments);
}

void set_remarks(bool on) { has_warnings = on; }

bool read_bool(const char *name, bool *value) {
    const char *given = variable(name);
    if (given == nullptr) {
        return false;
    }
    Text text(given);
    bool read;
    if (!text.take_bool(&read) || !text.is_over()) {
        bad_value(name, given, "true or false", "%s", *value ? "true" : "false");
        return false;
    }
    *value = read;
    return true;
}

bool read_number(const char *name, uint64_t least, uint64_t most, uint32_t *value) {
    const char *given = variable(name);
    if (given == nullptr) {
        return false;
    }
    Text text(given);
    uint64_t number;
    if (!text.take_number(&number) || !text.is_over() || number < least) {
        const char *wanted = least == 0 ? "a number from 0 on" : "a positive number";
        if (*value == 0 || *value == UINT32_MAX) {
            bad_value(name, given, wanted, "the default");
        } else {
            bad_value(name, given, wanted, "%u", *value);
        }
        return false;
    }
    if (number > most) {
        number = most;
        remark(Warning::ValueTooLarge, "%s=" VALUE " is too large: the most, %llu, is used", name, given,
               static_cast<unsigned long long>(most));
    }
    *value = static_cast<uint32_t>(number);
    return true;
}

void read_environment() {
    bool is_shown = false;
    read_bool("KMP_WARNINGS", &has_warnings);
    cpus_of_process(); // before anybody binds this thread
    read_hw_subset();
    read_threads();
    read_schedule();
    read_waiting();
    read_stack();
    read_binding();
    read_affinity_format();
    read_memory();
    read_device();
    read_tools();
    read_of_others();
    settings.has_nested_lists = settings.thread_list_len > 1 || settings.bind_list_len > 1;
    if (const char *value = variable("OMP_DISPLAY_ENV")) {
        Text text(value);
        if (text.take_word("verbose") && text.is_over()) {
            display_environment(true);
            return;
        }
        text = Text(value);
        if (!text.take_bool(&is_shown) || !text.is_over()) {
            is_shown = false;
            bad_value("OMP_DISPLAY_ENV", value, "true, false or verbose", "false");
        }
    }
    if (is_shown) {
        display_environment(false);
    }
    bool has_kmp_settings = false;
    if (read_bool("KMP_SETTINGS", &has_kmp_settings) && has_kmp_settings) {
        display_user_settings();
        display_environment(true, true);
    }
}

} // namespace hadal::omp
