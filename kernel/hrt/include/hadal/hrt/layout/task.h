/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Generated from abi/hrt/src/task.rs, which is the place for changes. */
/* clang-format off */

#ifndef HADAL_HRT_LAYOUT_TASK_H
#define HADAL_HRT_LAYOUT_TASK_H

#include "../base.h"

// A task, or the future of its result. Memory of the caller's, where it stays until the task is done and
// waited for. It needs no initial value.
struct hrt_task {
    // Its function; of libhrt once it runs.
    hrt_thread_fn fn;
    // What the function gets.
    void *arg;
    // What the function gave.
    void *result;
    // Of libhrt.
    uint32_t state;
    // As given to submit.
    uint32_t size_hint;
};

#endif  /* HADAL_HRT_LAYOUT_TASK_H */
