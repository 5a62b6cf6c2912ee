// SPDX-License-Identifier: Apache-2.0 OR MIT
// Thread-local data by key.
#define _GNU_SOURCE
#include <stdlib.h>

#include "record.h"

struct key {
    uint32_t generation; /* odd: in use */
    void (*destructor)(void *value);
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct key keys[HRT_KEYS_MAX];

static uint32_t generation_of(uint32_t key) {
    return key < HRT_KEYS_MAX ? __atomic_load_n(&keys[key].generation, __ATOMIC_ACQUIRE) : 0;
}

int hrt_linux_key_create(uint32_t *key, void (*destructor)(void *value)) {
    int status = HRT_ENOSPC;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < HRT_KEYS_MAX; i++) {
        if (keys[i].generation % 2 == 0) {
            keys[i].destructor = destructor;
            __atomic_store_n(&keys[i].generation, keys[i].generation + 1, __ATOMIC_RELEASE);
            *key = i;
            status = HRT_OK;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return status;
}

int hrt_linux_key_delete(uint32_t key) {
    pthread_mutex_lock(&lock);
    bool used = generation_of(key) % 2 == 1;
    if (used) {
        __atomic_store_n(&keys[key].generation, keys[key].generation + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return used ? HRT_OK : HRT_EINVAL;
}

void *hrt_linux_key_get(uint32_t key) {
    struct record *self = hrt_local.linux_thread;
    uint32_t generation = generation_of(key);
    if (!self || !self->values || generation % 2 == 0 || self->values[key].key_generation != generation) {
        return NULL;
    }
    return self->values[key].value;
}

int hrt_linux_key_set(uint32_t key, void *value) {
    uint32_t generation = generation_of(key);
    if (generation % 2 == 0) {
        return HRT_EINVAL;
    }
    struct record *self = hrt_linux_self();
    if (self && !self->values) {
        self->values = calloc(HRT_KEYS_MAX, sizeof *self->values);
    }
    if (!self || !self->values) {
        return HRT_ENOMEM;
    }
    self->values[key] = (struct value){.value = value, .key_generation = generation};
    return HRT_OK;
}

bool hrt_linux_key_take(void (**destructor)(void *value), void **value) {
    struct record *self = hrt_local.linux_thread;
    if (!self || !self->values) {
        return false;
    }
    for (uint32_t i = 0; i < HRT_KEYS_MAX; i++) {
        struct value taken = self->values[i];
        self->values[i].value = NULL;
        pthread_mutex_lock(&lock);
        bool live = keys[i].generation % 2 == 1 && keys[i].generation == taken.key_generation;
        void (*function)(void *) = keys[i].destructor;
        pthread_mutex_unlock(&lock);
        if (taken.value && live && function) {
            *destructor = function;
            *value = taken.value;
            return true;
        }
    }
    return false;
}
