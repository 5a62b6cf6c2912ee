// SPDX-License-Identifier: Apache-2.0 OR MIT
// Events: actions run in the service threads of the CPUs, woken by futex.
#define _GNU_SOURCE
#include "registry.h"
#include "service.h"

static struct hrt_registered slots[HRT_EVENTS_MAX];
static struct hrt_registry events = {slots, HRT_EVENTS_MAX, 0, PTHREAD_MUTEX_INITIALIZER};

// The futex that threads sleep on is the lower half of the number of arrivals.
static uint32_t *futex_of(struct hrt_service *service, uint32_t index) {
    return (uint32_t *)&service->arrivals[index];
}

static void wake_waiters(struct hrt_service *service, uint32_t index) {
    hrt_linux_wake(futex_of(service, index), HRT_WAKE_ALL, 0);
}

int hrt_linux_event_register(hrt_handler_fn action, void *arg, uint32_t flags, uint32_t *event) {
    return hrt_registry_add(&events, action, arg, flags, event);
}

int hrt_linux_event_unregister(uint32_t event) {
    int status = hrt_registry_close(&events, event);
    if (status != HRT_OK) {
        return status;
    }
    uint32_t index = hrt_registry_index(&events, event);
    for (uint32_t cpu = 0; cpu < hrt_linux_cpu_count(); cpu++) {
        struct hrt_service *service = hrt_service_of(cpu);
        __atomic_fetch_and(&service->events[index / 64], ~(1ull << index % 64), __ATOMIC_SEQ_CST);
        while (__atomic_load_n(&service->running, __ATOMIC_SEQ_CST) == index + 1) {
            sched_yield();
        }
        // Waiters look at the key again; for the next event it counts from 0.
        __atomic_store_n(&service->arrivals[index], 0, __ATOMIC_SEQ_CST);
        wake_waiters(service, index);
    }
    hrt_registry_free(&events, event);
    return HRT_OK;
}

static void notify(uint32_t event, uint32_t cpu) {
    uint32_t index = hrt_registry_index(&events, event);
    struct hrt_service *service = hrt_service_of(cpu);
    uint64_t bit = 1ull << index % 64;
    if (!(__atomic_fetch_or(&service->events[index / 64], bit, __ATOMIC_SEQ_CST) & bit)) {
        hrt_service_ring(service);
    }
}

int hrt_linux_event_notify(uint32_t event, int32_t cpu) {
    if (cpu < 0 || (uint32_t)cpu >= hrt_linux_cpu_count() || !hrt_registry_use(&events, event)) {
        return HRT_EINVAL;
    }
    notify(event, (uint32_t)cpu);
    hrt_registry_release(&events, event);
    return HRT_OK;
}

int hrt_linux_event_notify_set(uint32_t event, const uint64_t *cpus, uint32_t words) {
    if (!cpus && words) {
        return HRT_EFAULT;
    }
    for (uint32_t cpu = hrt_linux_cpu_count(); cpu < 64 * words; cpu++) {
        if (cpus[cpu / 64] >> cpu % 64 & 1) {
            return HRT_EINVAL;
        }
    }
    if (!hrt_registry_use(&events, event)) {
        return HRT_EINVAL;
    }
    for (uint32_t cpu = 0; cpu < hrt_linux_cpu_count() && cpu < 64 * words; cpu++) {
        if (cpus[cpu / 64] >> cpu % 64 & 1) {
            notify(event, cpu);
        }
    }
    hrt_registry_release(&events, event);
    return HRT_OK;
}

int hrt_linux_event_notify_all(uint32_t event, uint32_t flags) {
    if (flags & ~HRT_EVENT_SELF || !hrt_registry_use(&events, event)) {
        return HRT_EINVAL;
    }
    uint32_t skip = flags & HRT_EVENT_SELF ? UINT32_MAX : hrt_linux_cpu_self();
    for (uint32_t cpu = 0; cpu < hrt_linux_cpu_count(); cpu++) {
        if (cpu != skip) {
            notify(event, cpu);
        }
    }
    hrt_registry_release(&events, event);
    return HRT_OK;
}

static void run(struct hrt_service *service, uint32_t index) {
    const struct hrt_registered *slot = &slots[index];
    if (!__atomic_load_n(&slot->key, __ATOMIC_SEQ_CST)) {
        return;
    }
    if (slot->handler) {
        slot->handler(slot->arg);
    }
    __atomic_fetch_add(&service->arrivals[index], 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&service->waiters[index], __ATOMIC_SEQ_CST)) {
        wake_waiters(service, index);
    }
}

void hrt_service_run_events(struct hrt_service *service) {
    for (uint32_t word = 0; word < HRT_EVENTS_MAX / 64; word++) {
        for (uint64_t bits; (bits = __atomic_load_n(&service->events[word], __ATOMIC_RELAXED)) != 0;) {
            uint32_t bit = (uint32_t)__builtin_ctzll(bits);
            // Announced before the mark is taken, so that whoever clears the mark sees one of them.
            __atomic_store_n(&service->running, word * 64 + bit + 1, __ATOMIC_SEQ_CST);
            if (__atomic_fetch_and(&service->events[word], ~(1ull << bit), __ATOMIC_SEQ_CST) >> bit & 1) {
                run(service, word * 64 + bit);
            }
            __atomic_store_n(&service->running, 0, __ATOMIC_SEQ_CST);
        }
    }
}

int hrt_linux_event_wait(uint32_t event, uint64_t *seen, uint64_t deadline_ns) {
    if (!seen) {
        return HRT_EFAULT;
    }
    if (!hrt_registry_has(&events, event)) {
        return HRT_ESRCH;
    }
    struct hrt_service *service = hrt_service_of(hrt_linux_cpu_self());
    uint32_t index = hrt_registry_index(&events, event), *waiters = &service->waiters[index];
    int status = HRT_OK;
    uint64_t before = *seen;
    __atomic_fetch_add(waiters, 1, __ATOMIC_SEQ_CST);
    for (;;) {
        uint64_t arrived = __atomic_load_n(&service->arrivals[index], __ATOMIC_SEQ_CST);
        *seen = arrived;
        if (!hrt_registry_has(&events, event)) {
            status = HRT_ESRCH;
        } else if (arrived > before) {
            status = HRT_OK;
        } else if (status == HRT_OK || status == HRT_EAGAIN) {
            status = deadline_ns ? hrt_linux_wait(futex_of(service, index), (uint32_t)arrived, deadline_ns, 0)
                                 : HRT_ETIMEDOUT;
            continue;
        }
        break;
    }
    __atomic_fetch_sub(waiters, 1, __ATOMIC_SEQ_CST);
    return status;
}

int hrt_linux_memory_wait(const volatile uint64_t *word, uint64_t old, uint64_t deadline_ns) {
    if ((uintptr_t)word % sizeof *word) {
        return HRT_EINVAL;
    }
    if (!word) {
        return HRT_EFAULT;
    }
    for (uint32_t round = 1; *word == old; round++) {
        if (round % 256) {
            __builtin_ia32_pause();
        } else if (deadline_ns != HRT_FOREVER && hrt_linux_now_ns() >= deadline_ns) {
            return HRT_ETIMEDOUT;
        } else {
            // Whoever is to write the word may need this CPU.
            sched_yield();
        }
    }
    return HRT_OK;
}
