/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Binds the call table by hand, for programs that test the kernel without libhrt. */
#include <hadal/hrt.h>
#include <sys/auxv.h>

const struct hrt_calls *hrt_calls;

__attribute__((constructor(101))) static void bind(void) {
    hrt_calls = (const struct hrt_calls *)getauxval(HRT_AT_HADAL_HRT);
}

/* The header's wrappers name these; timers of threads are libhrt's. */
int hrt_thread_timer_start(uint64_t deadline_ns, hrt_handler_fn callback, void *arg, uint64_t *timer) {
    (void)deadline_ns, (void)callback, (void)arg, (void)timer;
    return HRT_ENOSYS;
}

int hrt_thread_timer_cancel(uint64_t timer) {
    (void)timer;
    return HRT_ENOSYS;
}
