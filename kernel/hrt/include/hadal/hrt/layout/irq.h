/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Generated from abi/hrt/src/irq.rs, which is the place for changes. */
/* clang-format off */

#ifndef HADAL_HRT_LAYOUT_IRQ_H
#define HADAL_HRT_LAYOUT_IRQ_H

#include "../base.h"

// The kernel's devices send messages instead of using lines; they have numbers from this one on.
#define HRT_IRQ_MESSAGE 0x10000u

// A line in use.
struct hrt_irq_info {
    // Global system interrupt; the kernel's own have numbers from HRT_IRQ_MESSAGE on.
    uint32_t line;
    // Where it is steered to.
    int32_t cpu;
    // Interrupt vector, or 0.
    uint32_t vector;
    // Whether it is masked.
    bool masked;
    // The kernel's own device: steerable, not maskable.
    bool kernel;
    // 0.
    uint8_t reserved[2];
    // Interrupts so far.
    uint64_t count;
    // Name of the device, padded with NUL.
    char name[24];
};

#endif  /* HADAL_HRT_LAYOUT_IRQ_H */
