// SPDX-License-Identifier: Apache-2.0 OR MIT
#define _GNU_SOURCE
#include "registry.h"

#include <sched.h>

#include "service.h"

int hrt_registry_add(struct hrt_registry *registry, hrt_handler_fn handler, void *arg, uint32_t flags,
                     uint32_t *name) {
    if (flags & ~HRT_HANDLER_VECTORS) {
        return HRT_EINVAL;
    }
    if (!name) {
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
    pthread_mutex_lock(&registry->registering);
    // The place that has been free longest: late uses of an old name find nothing.
    for (uint32_t tried = 1; tried <= registry->count; tried++) {
        uint32_t index = (registry->last + tried) % registry->count;
        struct hrt_registered *place = &registry->places[index];
        if (!place->taken) {
            registry->last = index;
            place->taken = true;
            place->handler = handler;
            place->arg = arg;
            *name = place->next_key ? place->next_key : registry->count + index;
            __atomic_store_n(&place->key, *name, __ATOMIC_SEQ_CST);
            status = HRT_OK;
            break;
        }
    }
    pthread_mutex_unlock(&registry->registering);
    return status;
}

int hrt_registry_close(struct hrt_registry *registry, uint32_t name) {
    struct hrt_registered *place = hrt_registry_entry(registry, name);
    uint32_t expected = name;
    if (hrt_service_of_caller()) {
        return HRT_EPERM;
    }
    if (!name ||
        !__atomic_compare_exchange_n(&place->key, &expected, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        return HRT_ESRCH;
    }
    while (__atomic_load_n(&place->users, __ATOMIC_SEQ_CST)) {
        sched_yield();
    }
    return HRT_OK;
}

void hrt_registry_free(struct hrt_registry *registry, uint32_t name) {
    struct hrt_registered *place = hrt_registry_entry(registry, name);
    pthread_mutex_lock(&registry->registering);
    // Behind the last generation comes the first.
    uint32_t next = name + registry->count;
    place->next_key = next < name ? registry->count + hrt_registry_index(registry, name) : next;
    place->taken = false;
    pthread_mutex_unlock(&registry->registering);
}

bool hrt_registry_use(struct hrt_registry *registry, uint32_t name) {
    struct hrt_registered *place = hrt_registry_entry(registry, name);
    // First without a trace: those who come too late must not hold the one up who waits for the others.
    if (!name || __atomic_load_n(&place->key, __ATOMIC_RELAXED) != name) {
        return false;
    }
    __atomic_fetch_add(&place->users, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&place->key, __ATOMIC_SEQ_CST) == name) {
        return true;
    }
    hrt_registry_release(registry, name);
    return false;
}

void hrt_registry_release(struct hrt_registry *registry, uint32_t name) {
    __atomic_fetch_sub(&hrt_registry_entry(registry, name)->users, 1, __ATOMIC_RELEASE);
}
