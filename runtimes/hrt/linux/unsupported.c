// SPDX-License-Identifier: Apache-2.0 OR MIT
// What Linux gives no process: every function says so.
#define _GNU_SOURCE
#include "linux.h"

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

int hrt_linux_hpet_read(uint64_t *count, uint64_t *hz) {
    (void)count, (void)hz;
    return HRT_ENOSYS;
}

int hrt_linux_pit_read(uint16_t *count, uint64_t *hz) {
    (void)count, (void)hz;
    return HRT_ENOSYS;
}
