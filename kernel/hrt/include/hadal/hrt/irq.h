/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Interrupts: raw interprocessor interrupts and device lines.
 *
 * Handlers, event actions and timer callbacks run in interrupt context: on the CPU's interrupt stack (16
 * KiB), interrupts off, in whatever thread was interrupted. They may read and write memory that is present,
 * and call functions marked handler-safe (others give HRT_EPERM or 0); they must not wait, allocate, use libc
 * or thread-local data, nor take a lock that threads hold with interrupts on. A fault there, also one on
 * memory that was mapped but never touched, a system call, or no return for seconds ends the program as
 * SIGSEGV does, with a report that names the handler. Registration touches the first page of the function,
 * and what `arg` points to.
 *
 * User-level Linux has no device lines: there the irq functions give HRT_ENOSYS, and raw IPIs are signals to
 * threads.
 */
#ifndef HADAL_HRT_IRQ_H
#define HADAL_HRT_IRQ_H

#include "calls.h"
#include "layout/irq.h"

HRT_BEGIN

/* Reserves an interrupt vector for handler(arg); `*vector` names it, and is never used again. `flags`:
 * HRT_HANDLER_VECTORS. HRT_ENOSPC: all 16 are taken. */
static inline int hrt_ipi_register(hrt_handler_fn handler, void *arg, uint32_t flags, uint32_t *vector) {
    return hrt_calls->ipi_register(handler, arg, flags, vector);
}
/* Returns when no CPU runs the handler any more. HRT_ESRCH, HRT_EPERM: with interrupts off. */
static inline int hrt_ipi_unregister(uint32_t vector) { return hrt_calls->ipi_unregister(vector); }
/* Interrupts a CPU. Handler-safe. HRT_EINVAL: not a registered vector, or no such CPU. */
static inline int hrt_ipi_send(uint32_t vector, int32_t cpu) { return hrt_calls->ipi_send(vector, cpu); }

/* Binds handler(arg) to an interrupt line and unmasks it, steered to CPU 0. HRT_EBUSY: a kernel device's;
 * HRT_ENODEV: no such line; HRT_ENOSPC. The handler of a line that signals by level must quiet the device. */
static inline int hrt_irq_register(uint32_t line, hrt_handler_fn handler, void *arg, uint32_t flags) {
    return hrt_calls->irq_register(line, handler, arg, flags);
}
static inline int hrt_irq_unregister(uint32_t line) { return hrt_calls->irq_unregister(line); }
/* Sends a line's interrupts, or those of a device of the kernel, to another CPU. HRT_ENODEV: not in use;
 * HRT_EINVAL: no such CPU. */
static inline int hrt_irq_steer(uint32_t line, int32_t cpu) { return hrt_calls->irq_steer(line, cpu); }
/* HRT_ENODEV: not registered; HRT_EPERM: a device of the kernel. */
static inline int hrt_irq_mask(uint32_t line, bool masked) { return hrt_calls->irq_mask(line, masked); }
/* The `index`-th line in use; HRT_ENODEV behind the last. */
static inline int hrt_irq_info(uint32_t index, struct hrt_irq_info *info) {
    return hrt_calls->irq_info(index, info, sizeof *info);
}
/* Turns interrupts off on the calling CPU: nothing preempts the caller until hrt_irq_restore(). Nests. No
 * call that waits in between; the watchdog ends a program that forgets. On Linux: blocks all signals of the
 * thread. */
static inline uint64_t hrt_irq_disable(void) { return hrt_calls->irq_disable(); }
static inline void hrt_irq_restore(uint64_t state) { hrt_calls->irq_restore(state); }

HRT_END

#endif
