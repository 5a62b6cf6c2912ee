/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The sets of this folder run, as one binary each, on the kernel and on Linux (libhrt-linux): both must do
 * what the header says. What they do differently by design is in the table here, with the reason. */
#ifndef PLACES_H
#define PLACES_H

#include <hadal/hrt.h>
#include <stdbool.h>

/* What only the kernel does, and why Linux does not. */
enum only_on_kernel {
    /* A pointer that is not the program's gives HRT_EFAULT. libhrt-linux is a part of the program and follows
     * pointers as the program would: SIGSEGV. */
    CHECKED_POINTERS,
    /* Interrupt lines, HPET and PIT. Linux gives a process none: HRT_ENOSYS. */
    DEVICE_LINES,
    /* The interrupt flag. On Linux signals are blocked instead, which only the program's own handlers notice.
     */
    INTERRUPT_FLAG,
    /* slot_add_bare() adds a slot. On Linux bare threads are pthreads, which libhrt-linux makes as it needs
     * them: HRT_ENOSYS. */
    KERNEL_SLOTS,
    /* The CPUs are the program's: a signal comes at once, and a thread keeps its CPU while nobody more urgent
     * is ready. On Linux other programs run in between. */
    OWN_CPUS,
    /* The zones are those that the command line asked for, and each has free blocks of 2 MiB. On Linux they
     * are the host's, and other programs have their part in them. */
    OWN_MEMORY,
    /* A system call may be given memory from hrt_alloc(), and nothing else of the kernel's half. Linux has no
     * such memory. */
    DIRECT_MEMORY,
};

/* Whether the place has a property of the table. */
static inline bool has(enum only_on_kernel property) {
    (void)property;
    return hrt_calls->place == HRT_PLACE_KERNEL;
}

#endif
