// SPDX-License-Identifier: Apache-2.0 OR MIT
// Tools in libraries that OMP_TOOL_LIBRARIES names. Not part of images.
#include <cstdlib>
#include <dlfcn.h>

#include "search.h"

namespace hadal::omp::ompt {

namespace {

StartResult *search_library(const char *name, Log &log) {
    log.say("Opening %s... ", name);
    void *library = dlopen(name, RTLD_LAZY);
    if (library == nullptr) {
        const char *reason = dlerror();
        log.say("Failed: %s\n", reason != nullptr ? reason : "unknown");
        return nullptr;
    }
    log.say("Success.\nSearching for ompt_start_tool in %s... ", name);
    StartTool start_tool = reinterpret_cast<StartTool>(dlsym(library, "ompt_start_tool"));
    if (start_tool == nullptr) {
        const char *reason = dlerror();
        log.say("Failed: %s\n", reason != nullptr ? reason : "unknown");
    } else if (StartResult *result = start_tool(OMP_VERSION, RUNTIME_VERSION)) {
        log.say("Success.\n");
        return result;
    } else {
        log.say("Found but not using the OMPT interface.\nContinuing search...\n");
    }
    dlclose(library);
    return nullptr;
}

} // namespace

StartResult *search_libraries(const char *list, Log &log) {
    log.say("Searching tool libraries...\nOMP_TOOL_LIBRARIES = %s\n", list);
    char *names = strdup(list), *rest = nullptr;
    StartResult *result = nullptr;
    for (char *name = names != nullptr ? strtok_r(names, ":", &rest) : nullptr;
         name != nullptr && result == nullptr; name = strtok_r(nullptr, ":", &rest)) {
        result = search_library(name, log);
    }
    free(names);
    return result;
}

} // namespace hadal::omp::ompt
