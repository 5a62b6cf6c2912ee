/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Raw interprocessor interrupts, device lines, the interrupt flag. The device is the PIT, which ring 0 can
 * program. */
#define _GNU_SOURCE
#include "event.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

static struct counter runs[CPUS_MAX];

static HRT_HANDLER void count_here(void *arg) { count(&runs[hrt_cpu_self()]), (void)arg; }

static HRT_HANDLER void count_arg(void *arg) { count(arg); }

static void ipis(void) {
    uint32_t vector;
    CHECK(hrt_ipi_register(count_here, NULL, 0, &vector) == HRT_OK);
    for (uint32_t cpu = 0; cpu < cpus(); cpu++) {
        for (uint64_t round = 1; round <= 50; round++) {
            CHECK(hrt_ipi_send(vector, (int32_t)cpu) == HRT_OK);
            UNTIL(count_of(&runs[cpu]) == round);
        }
    }
    CHECK(hrt_ipi_send(vector, -1) == HRT_EINVAL);
    CHECK(hrt_ipi_send(vector, (int32_t)cpus()) == HRT_EINVAL);
    CHECK(hrt_ipi_send(vector + 16, 0) == HRT_EINVAL);
    CHECK(hrt_ipi_register(NULL, NULL, 0, &vector) == HRT_EINVAL);
    CHECK(hrt_ipi_register(count_here, NULL, 4, &vector) == HRT_EINVAL);
    CHECK(hrt_ipi_register(count_here, NULL, 0, NULL) == HRT_EFAULT);
    CHECK(hrt_ipi_unregister(vector) == HRT_OK);
    CHECK(hrt_ipi_unregister(vector) == HRT_ESRCH);
    CHECK(hrt_ipi_send(vector, 0) == HRT_EINVAL);
    uint32_t vectors[64];
    uint32_t taken = 0;
    while (hrt_ipi_register(count_here, NULL, HRT_HANDLER_VECTORS, &vectors[taken]) == HRT_OK) {
        taken++;
        CHECK(taken < 64);
    }
    CHECK(taken == 16 && hrt_ipi_register(count_here, NULL, 0, &vector) == HRT_ENOSPC);
    uint64_t before = count_of(&runs[0]);
    for (uint32_t i = 0; i < taken; i++) {
        CHECK(hrt_ipi_send(vectors[i], 0) == HRT_OK);
        UNTIL(count_of(&runs[0]) == before + i + 1);
    }
    for (uint32_t i = 0; i < taken; i++) {
        CHECK(hrt_ipi_unregister(vectors[i]) == HRT_OK);
    }
}

/* Nothing interrupts this CPU while interrupts are off, and what came meanwhile comes afterwards. */
static void flag(void) {
    static struct counter own;
    uint32_t vector;
    CHECK(hrt_ipi_register(count_arg, &own, 0, &vector) == HRT_OK);
    run_on(0);
    for (int round = 0; round < 20; round++) {
        uint64_t before = count_of(&own);
        uint64_t outer = hrt_irq_disable();
        uint64_t inner = hrt_irq_disable();
        CHECK(hrt_ipi_send(vector, 0) == HRT_OK);
        for (uint64_t end = hrt_now_ns() + 200000; hrt_now_ns() < end;) {
            CHECK(count_of(&own) == before);
        }
        hrt_irq_restore(inner);
        CHECK(count_of(&own) == before);
        CHECK(hrt_ipi_unregister(vector) == HRT_EPERM);
        hrt_irq_restore(outer);
        UNTIL(count_of(&own) == before + 1);
    }
    CHECK(hrt_ipi_unregister(vector) == HRT_OK);
}

static void out(uint16_t port, uint8_t value) { __asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port)); }

/* Channel 0 of the PIT, an interrupt about each 2 ms. */
static void start_pit(void) {
    uint16_t divisor = 2386;
    out(0x43, 0x34);
    out(0x40, (uint8_t)divisor);
    out(0x40, (uint8_t)(divisor >> 8));
}

/* ISA interrupt 0 arrives at pin 2 of the I/O APIC. */
#define PIT_LINE 2

static struct hrt_irq_info info_of(uint32_t line) {
    struct hrt_irq_info info;
    for (uint32_t index = 0; hrt_irq_info(index, &info) == HRT_OK; index++) {
        if (info.line == line) {
            return info;
        }
    }
    memset(&info, 0xff, sizeof info);
    return info;
}

static void lines(void) {
    int32_t last = (int32_t)cpus() - 1;
    clear(runs);
    start_pit();
    CHECK(hrt_irq_register(PIT_LINE, count_here, NULL, 0) == HRT_OK);
    CHECK(hrt_irq_register(PIT_LINE, count_here, NULL, 0) == HRT_EBUSY);
    UNTIL(count_of(&runs[0]) >= 3);
    struct hrt_irq_info info = info_of(PIT_LINE);
    CHECK(info.cpu == 0 && info.vector != 0 && !info.masked && !info.kernel && info.count >= 3);
    CHECK(hrt_irq_steer(PIT_LINE, last) == HRT_OK);
    CHECK(info_of(PIT_LINE).cpu == last);
    uint64_t before = count_of(&runs[last]);
    UNTIL(count_of(&runs[last]) >= before + 3);
    CHECK(hrt_irq_mask(PIT_LINE, true) == HRT_OK);
    CHECK(info_of(PIT_LINE).masked);
    usleep(5000);
    before = count_of(&runs[last]);
    usleep(20000);
    CHECK(count_of(&runs[last]) == before);
    CHECK(hrt_irq_mask(PIT_LINE, false) == HRT_OK);
    UNTIL(count_of(&runs[last]) >= before + 3);
    CHECK(hrt_irq_steer(PIT_LINE, -1) == HRT_EINVAL);
    CHECK(hrt_irq_steer(PIT_LINE, (int32_t)cpus()) == HRT_EINVAL);
    CHECK(hrt_irq_unregister(PIT_LINE) == HRT_OK);
    before = count_of(&runs[last]);
    usleep(20000);
    CHECK(count_of(&runs[last]) == before);
    CHECK(hrt_irq_unregister(PIT_LINE) == HRT_ENODEV);
    CHECK(hrt_irq_mask(PIT_LINE, true) == HRT_ENODEV);
    CHECK(hrt_irq_register(100000, count_here, NULL, 0) == HRT_ENODEV);
    CHECK(hrt_irq_register(999, count_here, NULL, 0) == HRT_ENODEV);
    CHECK(hrt_irq_register(PIT_LINE, NULL, NULL, 0) == HRT_EINVAL);
}

/* The kernel's devices are listed and can be steered; files go on working. */
static void kernel_devices(void) {
    struct hrt_irq_info info;
    uint32_t found = 0;
    int status;
    for (uint32_t index = 0; (status = hrt_irq_info(index, &info)) == HRT_OK; index++) {
        CHECK(info.kernel && info.name[0] != 0 && info.vector != 0);
        CHECK(hrt_irq_register(info.line, count_here, NULL, 0) == HRT_EBUSY);
        CHECK(hrt_irq_mask(info.line, true) == HRT_EPERM);
        CHECK(hrt_irq_steer(info.line, (int32_t)(found % cpus())) == HRT_OK);
        CHECK(info_of(info.line).cpu == (int32_t)(found % cpus()));
        found++;
    }
    CHECK(status == HRT_ENODEV && found > 0);
    FILE *file = fopen("/proc/self/exe", "rb");
    CHECK(file != NULL);
    char byte;
    CHECK(fread(&byte, 1, 1, file) == 1 && byte == 0x7f);
    fclose(file);
    CHECK(access("/etc/hostname-that-is-not-there", R_OK) != 0);
    for (uint32_t index = 0; hrt_irq_info(index, &info) == HRT_OK; index++) {
        CHECK(hrt_irq_steer(info.line, 0) == HRT_OK);
    }
}

static void counters(void) {
    uint64_t count, hz, later;
    if (hrt_hpet_read(&count, &hz) == HRT_OK) {
        CHECK(hz >= 10000000);
        UNTIL(hrt_hpet_read(&later, &hz) == HRT_OK && later > count);
    }
    uint16_t first, second;
    CHECK(hrt_pit_read(&first, &hz) == HRT_OK && hz == 1193182);
    UNTIL(hrt_pit_read(&second, &hz) == HRT_OK && second != first);
    CHECK(hrt_hpet_read(NULL, &hz) == HRT_EFAULT && hrt_pit_read(&first, NULL) == HRT_EFAULT);
}

static void blocked_signals(void) {
    sigset_t set;
    uint64_t outer = hrt_irq_disable();
    uint64_t inner = hrt_irq_disable();
    hrt_irq_restore(inner);
    CHECK(pthread_sigmask(SIG_SETMASK, NULL, &set) == 0 && sigismember(&set, SIGUSR1) == 1);
    hrt_irq_restore(outer);
    CHECK(pthread_sigmask(SIG_SETMASK, NULL, &set) == 0 && sigismember(&set, SIGUSR1) == 0);
}

static void no_lines(void) {
    struct hrt_irq_info info;
    uint64_t count, hz;
    CHECK(hrt_irq_register(PIT_LINE, count_here, NULL, 0) == HRT_ENOSYS);
    CHECK(hrt_irq_info(0, &info) == HRT_ENOSYS && hrt_irq_steer(PIT_LINE, 0) == HRT_ENOSYS);
    CHECK(hrt_hpet_read(&count, &hz) == HRT_ENOSYS);
}

int main(void) {
    clear(runs);
    ipis();
    if (has(INTERRUPT_FLAG)) {
        flag();
    } else {
        blocked_signals();
    }
    if (has(DEVICE_LINES)) {
        lines();
        kernel_devices();
        counters();
    } else {
        no_lines();
    }
    puts("interrupts work");
    return 0;
}
