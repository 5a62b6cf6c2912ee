/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Generated from abi/hrt/src/base.rs, which is the place for changes. */
/* clang-format off */

#ifndef HADAL_HRT_LAYOUT_BASE_H
#define HADAL_HRT_LAYOUT_BASE_H

// A deadline that never passes.
#define HRT_FOREVER UINT64_MAX

// Let the scheduler choose the CPU.
#define HRT_CPU_ANY (-1)

// The zone of the CPU concerned, others when it is full.
#define HRT_ZONE_ANY (-1)

// Results. The numbers are Linux's, so that a POSIX layer can pass them on.
enum hrt_status {
    // Done.
    HRT_OK = 0,
    // Not the owner, or not allowed in this context.
    HRT_EPERM = 1,
    // No such thread, group, timer or event: never made, joined already, or destroyed.
    HRT_ESRCH = 3,
    // A signal handler ran, or pthread_cancel was called: look again and wait again.
    HRT_EINTR = 4,
    // No more of a limited resource, or the awaited word had another value.
    HRT_EAGAIN = 11,
    // No memory left in the zones allowed.
    HRT_ENOMEM = 12,
    // An address is not the program's.
    HRT_EFAULT = 14,
    // In use: destroy of a locked object, a second joiner, trylock of a held lock.
    HRT_EBUSY = 16,
    // Registered already.
    HRT_EEXIST = 17,
    // The machine has no such device.
    HRT_ENODEV = 19,
    // An argument out of range, or an object that is not one (destroyed, never initialised).
    HRT_EINVAL = 22,
    // A fixed table is full.
    HRT_ENOSPC = 28,
    // Waiting would never end: joining oneself, locking one's own mutex again.
    HRT_EDEADLK = 35,
    // This place (Linux user level, this CPU) cannot do it; the function's text says where it can.
    HRT_ENOSYS = 38,
    // A counter is at its maximum.
    HRT_EOVERFLOW = 75,
    // The deadline passed first.
    HRT_ETIMEDOUT = 110,
    // The scheduler refused a real-time thread or group; hrt_admission_text() says why.
    HRT_EADMIT = 1000,
};

#endif  /* HADAL_HRT_LAYOUT_BASE_H */
