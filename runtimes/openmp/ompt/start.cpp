// SPDX-License-Identifier: Apache-2.0 OR MIT
// Finding a tool when the program begins (OpenMP 5.2, section 19.2): a function of the program or of a
// library that it has loaded, or one of a library that OMP_TOOL_LIBRARIES names. And its end.
#include <cstdlib>
#include <cstring>

#include "core/memory.h"
#include "core/pool.h"
#include "events.h"
#include "search.h"

// Weak: the program need not have one.
extern "C" [[gnu::weak, gnu::visibility("default")]] hadal::omp::ompt::StartResult *
ompt_start_tool(unsigned omp_version, const char *runtime_version);

namespace hadal::omp::ompt {

bool enabled = false;
Function callbacks[EVENTS];

namespace {

StartResult *tool = nullptr;
bool is_finalized = false;

StartResult *search(Log &log) {
    log.say("Search for OMP tool in current address space... ");
    if (ompt_start_tool != nullptr) {
        if (StartResult *result = ompt_start_tool(OMP_VERSION, RUNTIME_VERSION)) {
            log.say("Success.\n");
            return result;
        }
    }
    log.say("Failed.\n");
    const char *list = variable("OMP_TOOL_LIBRARIES");
    StartResult *result = nullptr;
    if (list == nullptr) {
        log.say("No OMP_TOOL_LIBRARIES defined.\n");
    } else if (hadal_omp_search_libraries == nullptr) {
        remark(
            "OMP_TOOL_LIBRARIES has no effect: for an image that loads tools, link it with --openmp-tools");
    } else {
        result = hadal_omp_search_libraries(list, log);
    }
    if (result == nullptr) {
        log.say("...searching tool libraries failed.\n");
    }
    return result;
}

bool is_disabled() {
    const char *value = variable("OMP_TOOL");
    return value != nullptr && !Text(value).take_word("enabled");
}

StartResult *find() {
    Log log;
    StartResult *result = search(log);
    log.say("%s\n",
            result != nullptr ? "Tool was started and is using the OMPT interface." : "No OMP tool loaded.");
    return result;
}

} // namespace

bool may_have_tool() {
    return ompt_start_tool != nullptr || variable("OMP_TOOL_LIBRARIES") != nullptr ||
           variable("OMP_TOOL_VERBOSE_INIT") != nullptr;
}

void start() {
    if (is_disabled()) {
        return;
    }
    StartResult *result = find();
    // What it does in `initialize` is part of starting: no event before it returns.
    if (result == nullptr) {
        return;
    }
    if (result->initialize(lookup, 0, &result->tool_data) == 0) {
        memset(callbacks, 0, sizeof callbacks);
        return;
    }
    tool = result;
    enabled = true;
    atexit(finalize);
}

void finalize() {
    if (!enabled || is_finalized) {
        return;
    }
    is_finalized = true;
    Member *me = current;
    if (me == nullptr || me->team->level == 0) {
        await_leaving();
        pool_end(me);
    }
    if (me != nullptr) {
        thread_end(*me->thread);
    }
    for (Function &callback : callbacks) {
        HRT_STORE(&callback, nullptr, HRT_RELAXED);
    }
    tool->finalize(&tool->tool_data);
}

} // namespace hadal::omp::ompt
