// SPDX-License-Identifier: Apache-2.0 OR MIT
// Raw interrupts are a signal to the service thread of the CPU, whose handler finds in memory which ones they
// are; turning interrupts off is blocking all signals. Linux gives no process device lines.
#define _GNU_SOURCE
#include "service.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define VECTORS 16u

// A vector's name is its slot and, above, a generation; 0 while nothing is registered.
static struct vector {
    uint32_t key;
    uint32_t next_key; // 0: the slot's first
    bool taken;
    hrt_handler_fn handler;
    void *arg;
} vectors[VECTORS];

static pthread_mutex_t registering = PTHREAD_MUTEX_INITIALIZER;

int hrt_linux_ipi_register(hrt_handler_fn handler, void *arg, uint32_t flags, uint32_t *vector) {
    if (!handler || flags & ~HRT_HANDLER_VECTORS) {
        return HRT_EINVAL;
    }
    if (!vector) {
        return HRT_EFAULT;
    }
    if (hrt_service_of_caller()) {
        return HRT_EPERM;
    }
    int status = hrt_service_start();
    if (status != HRT_OK) {
        return status;
    }
    status = HRT_ENOSPC;
    pthread_mutex_lock(&registering);
    // The slot that has been free longest: late interrupts of an old vector find nothing.
    static uint32_t last;
    for (uint32_t tried = 1; tried <= VECTORS; tried++) {
        uint32_t index = (last + tried) % VECTORS;
        struct vector *slot = &vectors[index];
        if (!slot->taken) {
            last = index;
            slot->taken = true;
            slot->handler = handler;
            slot->arg = arg;
            *vector = slot->next_key ? slot->next_key : VECTORS + index;
            __atomic_store_n(&slot->key, *vector, __ATOMIC_SEQ_CST);
            status = HRT_OK;
            break;
        }
    }
    pthread_mutex_unlock(&registering);
    return status;
}

int hrt_linux_ipi_unregister(uint32_t vector) {
    uint32_t index = vector % VECTORS, expected = vector;
    struct vector *slot = &vectors[index];
    if (hrt_service_of_caller()) {
        return HRT_EPERM;
    }
    if (!vector ||
        !__atomic_compare_exchange_n(&slot->key, &expected, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        return HRT_ESRCH;
    }
    for (uint32_t cpu = 0; cpu < hrt_linux_cpu_count(); cpu++) {
        struct hrt_service *service = hrt_service_of(cpu);
        while (__atomic_load_n(&service->running_ipi, __ATOMIC_SEQ_CST) == index + 1) {
            sched_yield();
        }
    }
    pthread_mutex_lock(&registering);
    slot->next_key = vector + VECTORS < vector ? VECTORS + index : vector + VECTORS;
    slot->taken = false;
    pthread_mutex_unlock(&registering);
    return HRT_OK;
}

int hrt_linux_ipi_send(uint32_t vector, int32_t cpu) {
    uint32_t index = vector % VECTORS;
    if (cpu < 0 || (uint32_t)cpu >= hrt_linux_cpu_count() || !vector ||
        __atomic_load_n(&vectors[index].key, __ATOMIC_SEQ_CST) != vector) {
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
        const struct vector *slot = &vectors[index];
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
