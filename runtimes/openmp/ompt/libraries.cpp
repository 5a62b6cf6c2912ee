// SPDX-License-Identifier: Apache-2.0 OR MIT
// Tools in libraries that OMP_TOOL_LIBRARIES names. Images have this file if they are made with
// `hadal cc --openmp-tools`.
//
// What a static program loads has a C library of its own, and that its own buffers, which nobody writes out
// at the end. So each of the two writes out what it has before the other's code runs, and events of the tool
// line by line.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

#include "search.h"

namespace hadal::omp::ompt {

namespace {

void *library = nullptr; // the one that is asked, then the tool's
StartResult *tool = nullptr;

template <typename Type> Type *found(const char *name) {
    return reinterpret_cast<Type *>(dlsym(library, name));
}

void write_lines() {
    FILE **out = found<FILE *>("stdout");
    auto *set_buffer = found<int(FILE *, char *, int, size_t)>("setvbuf");
    if (out != nullptr && *out != stdout && set_buffer != nullptr) {
        set_buffer(*out, nullptr, _IOLBF, 0);
    }
}

// Calls something of the library.
template <typename Code> auto in_library(Code code) {
    struct Turn {
        Turn() { fflush(nullptr); }
        ~Turn() {
            if (auto *flush = found<int(FILE *)>("fflush")) {
                flush(nullptr);
            }
        }
    } turn;
    return code();
}

int initialize(Lookup lookup, int initial_device, Data *) {
    return in_library([&] { return tool->initialize(lookup, initial_device, &tool->tool_data); });
}

void finalize(Data *) {
    in_library([] { tool->finalize(&tool->tool_data); });
}

StartResult taken = {initialize, finalize, {}};

bool search_library(const char *name, Log &log) {
    log.say("Opening %s... ", name);
    library = dlopen(name, RTLD_LAZY);
    if (library == nullptr) {
        const char *reason = dlerror();
        log.say("Failed: %s\n", reason != nullptr ? reason : "unknown");
        return false;
    }
    write_lines();
    log.say("Success.\nSearching for ompt_start_tool in %s... ", name);
    auto *start_tool = found<StartResult *(unsigned, const char *)>("ompt_start_tool");
    if (start_tool == nullptr) {
        const char *reason = dlerror();
        log.say("Failed: %s\n", reason != nullptr ? reason : "unknown");
    } else if ((tool = in_library([=] { return start_tool(OMP_VERSION, RUNTIME_VERSION); })) != nullptr) {
        log.say("Success.\n");
        return true;
    } else {
        log.say("Found but not using the OMPT interface.\nContinuing search...\n");
    }
    dlclose(library);
    return false;
}

} // namespace

StartResult *hadal_omp_search_libraries(const char *list, Log &log) {
    log.say("Searching tool libraries...\nOMP_TOOL_LIBRARIES = %s\n", list);
    char *names = strdup(list), *rest = nullptr;
    bool is_found = false;
    for (char *name = names != nullptr ? strtok_r(names, ":", &rest) : nullptr; name != nullptr && !is_found;
         name = strtok_r(nullptr, ":", &rest)) {
        is_found = search_library(name, log);
    }
    free(names);
    return is_found ? &taken : nullptr;
}

} // namespace hadal::omp::ompt
