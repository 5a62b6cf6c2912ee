/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Handlers by name: a name is a place and, above, a generation, so that who uses an old one finds nothing. */
#ifndef HRT_LINUX_REGISTRY_H
#define HRT_LINUX_REGISTRY_H

#include <pthread.h>

#include "linux.h"

struct hrt_registered {
    uint32_t key;      /* the name; 0 while nothing is registered */
    uint32_t next_key; /* 0: the place's first */
    uint32_t users;    /* between hrt_registry_use() and hrt_registry_release() */
    bool taken;        /* until its name is gone from everywhere */
    hrt_handler_fn handler;
    void *arg;
};

struct hrt_registry {
    struct hrt_registered *places;
    uint32_t count; /* a power of two */
    uint32_t last;  /* the place given out last */
    pthread_mutex_t registering;
};

static inline uint32_t hrt_registry_index(const struct hrt_registry *registry, uint32_t name) {
    return name % registry->count;
}
static inline struct hrt_registered *hrt_registry_entry(const struct hrt_registry *registry, uint32_t name) {
    return &registry->places[hrt_registry_index(registry, name)];
}
/* Whether the name is registered, as of the call. */
static inline bool hrt_registry_has(const struct hrt_registry *registry, uint32_t name) {
    return name && __atomic_load_n(&hrt_registry_entry(registry, name)->key, __ATOMIC_SEQ_CST) == name;
}

/* Checks the arguments, starts the service threads and gives the handler a name. */
int hrt_registry_add(struct hrt_registry *registry, hrt_handler_fn handler, void *arg, uint32_t flags,
                     uint32_t *name);
/* First half of taking a name away: from here on nobody can use it, and nobody does. HRT_EPERM in handlers;
 * HRT_ESRCH. The place stays taken: the caller removes the name from wherever it is pending. */
int hrt_registry_close(struct hrt_registry *registry, uint32_t name);
/* The second half. */
void hrt_registry_free(struct hrt_registry *registry, uint32_t name);

/* Between these two the name cannot be taken away; false if it is gone. */
bool hrt_registry_use(struct hrt_registry *registry, uint32_t name);
void hrt_registry_release(struct hrt_registry *registry, uint32_t name);

#endif
