// SPDX-License-Identifier: Apache-2.0 OR MIT
// An active message to every CPU: the action runs there in interrupt context, within microseconds, whatever
// runs.
#include <hadal/hrt.h>
#include <stdio.h>

static uint32_t arrived;
static uint32_t all;

HRT_HANDLER static void arrive(void *arg) {
    (void)arg;
    if (__atomic_add_fetch(&arrived, 1, __ATOMIC_RELEASE) == hrt_cpu_count()) {
        __atomic_store_n(&all, 1, __ATOMIC_RELEASE);
        hrt_wake(&all, 1, HRT_WAKE_KICK);
    }
}

int main(void) {
    uint32_t event;
    int status = hrt_event_register(arrive, NULL, 0, &event);
    if (status != HRT_OK) {
        fprintf(stderr, "hrt_event_register: status %d\n", status);
        return 1;
    }
    for (int round = 0; round < 3; round++) {
        arrived = all = 0;
        hrt_event_notify_all(event, HRT_EVENT_SELF);
        while (!__atomic_load_n(&all, __ATOMIC_ACQUIRE)) {
            hrt_wait(&all, 0, HRT_FOREVER, 0);
        }
        printf("round %d: every CPU\n", round);
    }
    hrt_event_unregister(event);
    return 0;
}
