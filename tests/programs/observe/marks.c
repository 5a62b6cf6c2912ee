/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Marks in the trace: from main, from a bare thread, from a handler on every CPU (all but one are idle), one
 * that is too long. */
#include <hadal/hrt.h>

#include "../common/check.h"

static uint32_t handled;

static HRT_HANDLER void handler(void *arg) {
    hrt_trace_mark("from a handler");
    __atomic_store_n((uint32_t *)arg, 1, __ATOMIC_RELEASE);
}

static void *bare(void *arg) {
    hrt_trace_mark("from a thread");
    return arg;
}

int main(void) {
    hrt_trace_mark("");
    for (int i = 0; i < 3; i++) {
        hrt_trace_mark("three times");
    }
    hrt_trace_mark("sixteen bytes 16, and more");
    struct hrt_thread_attr attr;
    hrt_thread_attr_init(&attr);
    attr.flags = HRT_THREAD_BARE;
    hrt_thread_t thread;
    CHECK_EQUAL(hrt_thread_create(&thread, &attr, bare, NULL), HRT_OK);
    CHECK_EQUAL(hrt_thread_join(thread, NULL), HRT_OK);
    uint32_t event;
    CHECK_EQUAL(hrt_event_register(handler, &handled, 0, &event), HRT_OK);
    hrt_trace_mark_now("also untraced");
    uint32_t cpus = hrt_cpu_count();
    for (uint32_t cpu = 0; cpu < cpus; cpu++) {
        handled = 0;
        CHECK_EQUAL(hrt_event_notify(event, cpu), HRT_OK);
        while (!__atomic_load_n(&handled, __ATOMIC_ACQUIRE)) {
            hrt_thread_yield();
        }
    }
    CHECK_EQUAL(hrt_event_unregister(event), HRT_OK);
    puts("marked");
    return 0;
}
