// SPDX-License-Identifier: Apache-2.0 OR MIT
// Raw interrupts are a signal to the service thread of the CPU, whose handler finds in memory which ones they
// are; turning interrupts off is blocking all signals. Linux gives no process device lines.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "registry.h"
#include "service.h"

#define VECTORS 16u

static struct hrt_registered slots[VECTORS];
static struct hrt_registry vectors = {slots, VECTORS, 0, PTHREAD_MUTEX_INITIALIZER};

int hrt_linux_ipi_register(hrt_handler_fn handler, void *arg, uint32_t flags, uint32_t *vector) {
    return handler ? hrt_registry_add(&vectors, handler, arg, flags, vector) : HRT_EINVAL;
}

int hrt_linux_ipi_unregister(uint32_t vector) {
    int status = hrt_registry_close(&vectors, vector);
    if (status != HRT_OK) {
        return status;
    }
    uint32_t index = hrt_registry_index(&vectors, vector);
    for (uint32_t cpu = 0; cpu < hrt_linux_cpu_count(); cpu++) {
        struct hrt_service *service = hrt_service_of(cpu);
        while (__atomic_load_n(&service->running_ipi, __ATOMIC_SEQ_CST) == index + 1) {
            sched_yield();
        }
    }
    hrt_registry_free(&vectors, vector);
    return HRT_OK;
}

int hrt_linux_ipi_send(uint32_t vector, int32_t cpu) {
    uint32_t index = hrt_registry_index(&vectors, vector);
    if (cpu < 0 || (uint32_t)cpu >= hrt_linux_cpu_count() || !hrt_registry_has(&vectors, vector)) {
        return HRT_EINVAL;
    }
    struct hrt_service *service = hrt_service_of((uint32_t)cpu);
    // Interrupts of one vector that wait for the CPU become one, as in hardware.
    if (!(__atomic_fetch_or(&service->ipis, 1u << index, __ATOMIC_SEQ_CST) >> index & 1)) {
        int saved = errno;
        syscall(SYS_tgkill, getpid(), service->tid, HRT_SERVICE_SIGNAL);
        errno = saved;
    }
    return HRT_OK;
}

void hrt_service_run_ipis(struct hrt_service *service) {
    uint32_t pending;
    while ((pending = __atomic_load_n(&service->ipis, __ATOMIC_RELAXED)) != 0) {
        uint32_t index = (uint32_t)__builtin_ctz(pending);
        const struct hrt_registered *slot = &slots[index];
        __atomic_store_n(&service->running_ipi, index + 1, __ATOMIC_SEQ_CST);
        __atomic_fetch_and(&service->ipis, ~(1u << index), __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&slot->key, __ATOMIC_SEQ_CST)) {
            slot->handler(slot->arg);
        }
        __atomic_store_n(&service->running_ipi, 0, __ATOMIC_SEQ_CST);
    }
}

// The system call itself, because glibc's functions leave two signals out; a set is 64 bits.
static uint64_t set_mask(uint64_t mask) {
    uint64_t before = 0;
    int saved = errno;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &before, sizeof before);
    errno = saved;
    return before;
}

uint64_t hrt_linux_irq_disable(void) { return set_mask(UINT64_MAX); }

void hrt_linux_irq_restore(uint64_t state) { set_mask(state); }
