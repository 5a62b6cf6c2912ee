// SPDX-License-Identifier: Apache-2.0 OR MIT
// Threads as libc makes them, for slots. A file of its own, so that libhrt-pthread can put another in its
// place.
#include <pthread.h>

#include "internal.h"

int hrt_libc_thread_create(void *thread, const void *attr, void *(*start)(void *), void *arg) {
    return pthread_create(thread, attr, start, arg);
}
