// SPDX-License-Identifier: Apache-2.0 OR MIT
// What Linux gives no process, and (until event.c, irq.c and timer.c take it over) what this library has not
// got: every function says so.
#define _GNU_SOURCE
#include "linux.h"

int hrt_linux_event_register(hrt_handler_fn action, void *arg, uint32_t flags, uint32_t *event) {
    (void)action, (void)arg, (void)flags, (void)event;
    return HRT_ENOSYS;
}

int hrt_linux_event_unregister(uint32_t event) {
    (void)event;
    return HRT_ENOSYS;
}

int hrt_linux_event_notify(uint32_t event, int32_t cpu) {
    (void)event, (void)cpu;
    return HRT_ENOSYS;
}

int hrt_linux_event_notify_set(uint32_t event, const uint64_t *cpus, uint32_t words) {
    (void)event, (void)cpus, (void)words;
    return HRT_ENOSYS;
}

int hrt_linux_event_notify_all(uint32_t event, uint32_t flags) {
    (void)event, (void)flags;
    return HRT_ENOSYS;
}

int hrt_linux_event_wait(uint32_t event, uint64_t *seen, uint64_t deadline_ns) {
    (void)event, (void)seen, (void)deadline_ns;
    return HRT_ENOSYS;
}

int hrt_linux_memory_wait(const volatile uint64_t *word, uint64_t old, uint64_t deadline_ns) {
    (void)word, (void)old, (void)deadline_ns;
    return HRT_ENOSYS;
}

int hrt_linux_ipi_register(hrt_handler_fn handler, void *arg, uint32_t flags, uint32_t *vector) {
    (void)handler, (void)arg, (void)flags, (void)vector;
    return HRT_ENOSYS;
}

int hrt_linux_ipi_unregister(uint32_t vector) {
    (void)vector;
    return HRT_ENOSYS;
}

int hrt_linux_ipi_send(uint32_t vector, int32_t cpu) {
    (void)vector, (void)cpu;
    return HRT_ENOSYS;
}

int hrt_linux_irq_register(uint32_t line, hrt_handler_fn handler, void *arg, uint32_t flags) {
    (void)line, (void)handler, (void)arg, (void)flags;
    return HRT_ENOSYS;
}

int hrt_linux_irq_unregister(uint32_t line) {
    (void)line;
    return HRT_ENOSYS;
}

int hrt_linux_irq_steer(uint32_t line, int32_t cpu) {
    (void)line, (void)cpu;
    return HRT_ENOSYS;
}

int hrt_linux_irq_mask(uint32_t line, bool masked) {
    (void)line, (void)masked;
    return HRT_ENOSYS;
}

int hrt_linux_irq_info(uint32_t index, struct hrt_irq_info *info, uint64_t info_bytes) {
    (void)index, (void)info, (void)info_bytes;
    return HRT_ENOSYS;
}

uint64_t hrt_linux_irq_disable(void) { return 0; }

void hrt_linux_irq_restore(uint64_t state) { (void)state; }

int hrt_linux_timer_start(int32_t cpu, uint64_t deadline_ns, hrt_handler_fn callback, void *arg,
                          uint32_t flags, uint64_t *timer) {
    (void)cpu, (void)deadline_ns, (void)callback, (void)arg, (void)flags, (void)timer;
    return HRT_ENOSYS;
}

int hrt_linux_timer_cancel(uint64_t timer) {
    (void)timer;
    return HRT_ENOSYS;
}

int hrt_linux_hpet_read(uint64_t *count, uint64_t *hz) {
    (void)count, (void)hz;
    return HRT_ENOSYS;
}

int hrt_linux_pit_read(uint16_t *count, uint64_t *hz) {
    (void)count, (void)hz;
    return HRT_ENOSYS;
}
