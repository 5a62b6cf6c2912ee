/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Types and constants that every part of hadal/hrt.h uses. The folder layout has the constants and
 * structures, which are generated from the source that the kernel uses as well (abi/hrt). */
#ifndef HADAL_HRT_BASE_H
#define HADAL_HRT_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define HRT_BEGIN extern "C" {
#define HRT_END }
#else
#define HRT_BEGIN
#define HRT_END
#endif

#include "layout/base.h"

#define HRT_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define HRT_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* Passes on what a fork returned. The function that forks must still have its frame then: this keeps
 * compilers from giving it up for a call in the last place. */
static inline int hrt_forked(int status) {
    __asm__ volatile("" : "+r"(status));
    return status;
}

/* Names a thread, live or not; never reused while anybody could still mean the old one. 0 names none. */
typedef uint64_t hrt_thread_t;

/* A thread's function and a task's: the result goes to whoever joins or waits. */
typedef void *(*hrt_thread_fn)(void *arg);

/* Runs in interrupt context: see hrt/irq.h for what it may do. */
typedef void (*hrt_handler_fn)(void *arg);

#endif
