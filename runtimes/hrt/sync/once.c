// SPDX-License-Identifier: Apache-2.0 OR MIT
// Once: one caller does the work, the others sleep until it is done or given up.
#include "wait.h"

int hrt_once_begin(hrt_once_t *once) {
    for (;;) {
        uint32_t state = HRT_LOAD(&once->state, HRT_ACQUIRE);
        if (state == HRT_ONCE_DONE) {
            return HRT_OK;
        }
        if (state == HRT_ONCE_NEW) {
            // Acquire: after an abandoned attempt its effects must be visible.
            if (HRT_CAS(&once->state, &state, HRT_ONCE_RUNNING, HRT_ACQUIRE)) {
                return HRT_ONCE_YOURS;
            }
            continue;
        }
        if (state == HRT_ONCE_RUNNING) {
            if (!HRT_CAS(&once->state, &state, HRT_ONCE_SLEEPERS, HRT_RELAXED)) {
                continue;
            }
        } else if (state != HRT_ONCE_SLEEPERS) {
            return HRT_EINVAL;
        }
        int status = hrt_wait(&once->state, HRT_ONCE_SLEEPERS, HRT_FOREVER, 0);
        if (hrt_wait_failed(status)) {
            return status;
        }
    }
}

static int finish(hrt_once_t *once, uint32_t next) {
    uint32_t state = HRT_LOAD(&once->state, HRT_RELAXED);
    do {
        if (state == HRT_ONCE_NEW || state == HRT_ONCE_DONE) {
            return HRT_EPERM;
        }
        if (state != HRT_ONCE_RUNNING && state != HRT_ONCE_SLEEPERS) {
            return HRT_EINVAL;
        }
    } while (!HRT_CAS(&once->state, &state, next, HRT_RELEASE));
    if (state == HRT_ONCE_SLEEPERS) {
        hrt_wake(&once->state, HRT_WAKE_ALL, HRT_WAKE_KICK);
    }
    return HRT_OK;
}

int hrt_once_end(hrt_once_t *once) { return finish(once, HRT_ONCE_DONE); }

int hrt_once_abandon(hrt_once_t *once) { return finish(once, HRT_ONCE_NEW); }
