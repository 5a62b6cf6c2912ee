/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Generated from abi/hrt/src/module.rs, which is the place for changes. */
/* clang-format off */

#ifndef HADAL_HRT_LAYOUT_MODULE_H
#define HADAL_HRT_LAYOUT_MODULE_H

#include "../base.h"

// A file that the boot loader, or `hadal run --module NAME=FILE`, put into memory; read-only for as long as
// the machine runs.
struct hrt_module {
    // Its name.
    const char *name;
    // Its content.
    const void *data;
    // Length of the content.
    uint64_t bytes;
};

#endif  /* HADAL_HRT_LAYOUT_MODULE_H */
