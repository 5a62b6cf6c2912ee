/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A pthread_mutex_t as this library sees it, and what condition variables need of one. */
#ifndef HADAL_RUNTIMES_HRT_PTHREAD_MUTEX_H
#define HADAL_RUNTIMES_HRT_PTHREAD_MUTEX_H

#include "../sync/wait.h"
#include "thread.h"

struct hrt_posix_mutex {
    hrt_mutex_t core;
    int32_t type; /* PTHREAD_MUTEX_*, at offset 16; libc adds bits to those that are its own */
};
#define HRT_MUTEX_LIBC 0x70 /* robust, priority inheritance, priority protection */
_Static_assert(sizeof(struct hrt_posix_mutex) <= sizeof(pthread_mutex_t), "layout");
_Static_assert(offsetof(struct hrt_posix_mutex, type) == offsetof(struct __pthread_mutex_s, __kind),
               "layout");

/* Unlocks however often it is locked, and restores that. */
int hrt_posix_mutex_suspend(pthread_mutex_t *mutex, uint32_t *depth);
int hrt_posix_mutex_resume(pthread_mutex_t *mutex, uint32_t depth);

#endif
