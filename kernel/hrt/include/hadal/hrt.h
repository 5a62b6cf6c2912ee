/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * hadal/hrt.h: what a run-time gets from the kernel.
 *
 * One source that includes this header runs in three places without change:
 *   - in an image made by `hadal cc`: program and kernel boot as one;
 *   - as an ordinary Linux binary linked with libhrt-linux that `hadal run` executes in ring 0;
 *   - the same binary on Linux, where libhrt-linux does the work with pthreads and futexes.
 *
 * Conventions, unless a function says otherwise:
 *   - functions return 0 or one of `enum hrt_status`; these are Linux's errno numbers, positive. errno itself
 * is never touched;
 *   - times are nanoseconds: deadlines are absolute on the clock of hrt_now_ns(), HRT_FOREVER never passes;
 *   - CPUs and zones are numbered from 0 without gaps;
 *   - a function may be called from any thread of the program, also one that pthread_create made. In a
 * handler (an event action, a timer callback, an interrupt handler) only functions marked "handler-safe" may
 * be called;
 *   - the caller's stack needs no room for the kernel: calls run on the thread's kernel stack.
 *
 * The header is clean C11 and C++20. Floating-point values never cross the interface.
 */
#ifndef HADAL_HRT_H
#define HADAL_HRT_H

#include "hrt/base.h"
#include "hrt/calls.h"

#include "hrt/event.h"
#include "hrt/fiber.h"
#include "hrt/irq.h"
#include "hrt/memory.h"
#include "hrt/module.h"
#include "hrt/sync.h"
#include "hrt/task.h"
#include "hrt/thread.h"
#include "hrt/time.h"
#include "hrt/topology.h"
#include "hrt/trace.h"

#endif
