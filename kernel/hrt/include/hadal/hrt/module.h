/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the boot brought along: modules and the command line. The environment is libc's getenv(). */
#ifndef HADAL_HRT_MODULE_H
#define HADAL_HRT_MODULE_H

#include "calls.h"
#include "layout/module.h"

HRT_BEGIN

/* HRT_ENODEV behind the last. On Linux: the files that the variable HRT_MODULES names, as
 * NAME=FILE:NAME=FILE. */
static inline int hrt_module(uint32_t index, struct hrt_module *module) {
    return hrt_calls->module(index, module, sizeof *module);
}
/* The kernel's command line; never NULL. On Linux the variable HRT_COMMAND_LINE. */
static inline const char *hrt_command_line(void) { return hrt_calls->command_line(); }

HRT_END

#endif
