// SPDX-License-Identifier: Apache-2.0 OR MIT
// Once. A function that is cancelled, exits its thread or throws has not run: the next caller runs it.
#include "thread.h"

_Static_assert(sizeof(hrt_once_t) == sizeof(pthread_once_t), "layout");

static void abandon(void *once) { hrt_once_abandon(once); }

int pthread_once(pthread_once_t *control, void (*function)(void)) {
    hrt_once_t *once = (hrt_once_t *)control;
    uint32_t state = HRT_LOAD(&once->state, HRT_ACQUIRE);
    if (HRT_LIKELY(state == HRT_ONCE_DONE)) {
        return 0;
    }
    if (state == PTHREAD_ONCE_INIT) {
        HRT_CAS(&once->state, &state, HRT_ONCE_NEW, HRT_RELAXED);
    }
    int status = hrt_once_begin(once);
    if (status == HRT_ONCE_YOURS) {
        pthread_cleanup_push(abandon, once);
        function();
        pthread_cleanup_pop(0);
        status = hrt_once_end(once);
    }
    return status;
}
