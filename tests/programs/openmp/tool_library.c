// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A tool in a library of its own, which writes through its C library: counts regions, unless ANSWERS is 0.

#include <stdio.h>

#include "ompt_tool.h"

static int regions;

static void region_begins(void) { regions++; }

static int initialize(ompt_lookup_t lookup, int device, ompt_data_t *data) {
    int (*set_callback)(int, ompt_function_t) = (int (*)(int, ompt_function_t))lookup("ompt_set_callback");
    printf("the tool begins with %d on device %d\n", (int)data->value, device);
    return set_callback(PARALLEL_BEGIN, region_begins) == SET_ALWAYS;
}

static void finalize(ompt_data_t *data) {
    printf("the tool ends with %d after %d regions\n", (int)data->value, regions);
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime) {
    static ompt_start_tool_result_t result = {initialize, finalize, {.value = 7}};
    printf("asked by %s of %u\n", runtime, version);
    return ANSWERS ? &result : NULL;
}
