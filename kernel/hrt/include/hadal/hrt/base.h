/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Types and constants that every part of hadal/hrt.h uses. */
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

#define HRT_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define HRT_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* Results. The numbers are Linux's, so that a POSIX layer can pass them on. */
enum hrt_status {
    HRT_OK = 0,
    HRT_EPERM = 1,   /* not the owner, or not allowed in this context */
    HRT_ESRCH = 3,   /* no such thread, group, timer or event: never made, joined already, or destroyed */
    HRT_EINTR = 4,   /* a signal handler ran, or pthread_cancel was called: look again and wait again */
    HRT_EAGAIN = 11, /* no more of a limited resource, or the awaited word had another value */
    HRT_ENOMEM = 12, /* no memory left in the zones allowed */
    HRT_EFAULT = 14, /* an address is not the program's */
    HRT_EBUSY = 16,  /* in use: destroy of a locked object, a second joiner, trylock of a held lock */
    HRT_EEXIST = 17, /* registered already */
    HRT_ENODEV = 19, /* the machine has no such device */
    HRT_EINVAL =
        22, /* an argument out of range, or an object that is not one (destroyed, never initialised) */
    HRT_ENOSPC = 28,  /* a fixed table is full */
    HRT_EDEADLK = 35, /* waiting would never end: joining oneself, locking one's own mutex again */
    HRT_ENOSYS =
        38, /* this place (Linux user level, this CPU) cannot do it; the function's text says where it can */
    HRT_EOVERFLOW = 75,  /* a counter is at its maximum */
    HRT_ETIMEDOUT = 110, /* the deadline passed first */
    HRT_EADMIT = 1000 /* the scheduler refused a real-time thread or group; hrt_admission_text() says why */
};

#define HRT_FOREVER UINT64_MAX /* a deadline that never passes */
#define HRT_CPU_ANY (-1)       /* let the scheduler choose */
#define HRT_ZONE_ANY (-1)      /* the zone of the CPU concerned, others when it is full */

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
