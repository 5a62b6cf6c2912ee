// SPDX-License-Identifier: Apache-2.0 OR MIT
// Timers: each service thread has those of its CPU, and sleeps until the earliest.
#define _GNU_SOURCE
#include "service.h"

// A timer's name: CPU plus one, place and generation. Bit 63 is free (HRT_TIMER_THREAD_NAME).
#define CPU_BITS 12
#define PLACE_BITS 20

// A raw interrupt's handler may start a timer on the CPU that it has interrupted: no signals while the lock
// is held.
static uint64_t lock(struct hrt_service *service) {
    uint64_t state = hrt_linux_irq_disable();
    while (__atomic_exchange_n(&service->timers_lock, 1, __ATOMIC_ACQUIRE)) {
        sched_yield();
    }
    return state;
}

static void unlock(struct hrt_service *service, uint64_t state) {
    __atomic_store_n(&service->timers_lock, 0, __ATOMIC_RELEASE);
    hrt_linux_irq_restore(state);
}

int hrt_linux_timer_start(int32_t cpu, uint64_t deadline_ns, hrt_handler_fn callback, void *arg,
                          uint32_t flags, uint64_t *timer) {
    if (cpu < HRT_CPU_ANY || cpu >= (int32_t)hrt_linux_cpu_count() || !callback ||
        flags & ~HRT_HANDLER_VECTORS) {
        return HRT_EINVAL;
    }
    int status = hrt_service_start();
    if (status != HRT_OK) {
        return status;
    }
    uint32_t target = cpu == HRT_CPU_ANY ? hrt_linux_cpu_self() : (uint32_t)cpu;
    struct hrt_service *service = hrt_service_of(target);
    uint64_t state = lock(service);
    bool first = deadline_ns < hrt_timer_next(&service->timers);
    uint32_t place = hrt_timer_add(&service->timers, deadline_ns, callback, arg);
    if (place >> PLACE_BITS) {
        if (place != UINT32_MAX) {
            hrt_timer_remove(&service->timers, place, service->timers.places[place].generation);
        }
        unlock(service, state);
        return HRT_ENOMEM;
    }
    uint64_t generation = service->timers.places[place].generation;
    if (timer) {
        *timer = generation << (PLACE_BITS + CPU_BITS) | (uint64_t)place << CPU_BITS | (target + 1);
    }
    unlock(service, state);
    if (first) {
        hrt_service_ring(service);
    }
    return HRT_OK;
}

int hrt_linux_timer_cancel(uint64_t timer) {
    uint32_t cpu = timer & ((1u << CPU_BITS) - 1);
    if (cpu == 0 || cpu > hrt_linux_cpu_count() || hrt_service_start() != HRT_OK) {
        return HRT_ESRCH;
    }
    struct hrt_service *service = hrt_service_of(cpu - 1);
    uint32_t place = timer >> CPU_BITS & ((1u << PLACE_BITS) - 1);
    uint64_t state = lock(service);
    bool pending = hrt_timer_remove(&service->timers, place, (uint32_t)(timer >> (PLACE_BITS + CPU_BITS)));
    unlock(service, state);
    return pending ? HRT_OK : HRT_ESRCH;
}

uint64_t hrt_service_run_timers(struct hrt_service *service) {
    for (;;) {
        struct hrt_timer timer;
        uint64_t state = lock(service);
        bool due = hrt_timer_due(&service->timers, hrt_linux_now_ns(), &timer);
        uint64_t next_ns = hrt_timer_next(&service->timers);
        unlock(service, state);
        if (!due) {
            return next_ns;
        }
        timer.callback(timer.arg);
    }
}
