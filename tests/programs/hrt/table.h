/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The kernel's call table, bound by hand, and the least that a program needs around it: these tests are about
 * the kernel, not about libhrt. */
#ifndef TABLE_H
#define TABLE_H

#include <hadal/hrt/thread.h>
#include <hadal/hrt/time.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

const struct hrt_calls *hrt_calls;

/* Ends the program with the line of a check that failed. */
#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            dprintf(2, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                       \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

static inline void bind_table(void) {
    hrt_calls = (const struct hrt_calls *)getauxval(HRT_AT_HADAL_HRT);
    CHECK(hrt_calls != NULL && hrt_calls->version == HRT_CALLS_VERSION);
    CHECK(hrt_calls->size == sizeof *hrt_calls && hrt_calls->place == HRT_PLACE_KERNEL);
}

/* Slots that have begun: the maker waits for one, or, if it is more urgent, it would make slots for ever. */
static uint32_t slots_begun;

static void slot_loop(const struct hrt_slot_kind *kind) {
    void *result = NULL;
    __atomic_add_fetch(&slots_begun, 1, __ATOMIC_RELEASE);
    hrt_calls->wake(&slots_begun, 1, 0);
    struct hrt_work work;
    while ((work = hrt_calls->slot_wait(kind, result)).fn != NULL) {
        result = work.fn(work.arg);
    }
}

static void *libc_slot(void *argument) {
    struct hrt_slot_kind kind = *(struct hrt_slot_kind *)argument;
    free(argument);
    slot_loop(&kind);
    return NULL;
}

static int make_libc_slot(const struct hrt_slot_kind *kind) {
    struct hrt_slot_kind *copy = malloc(sizeof *copy);
    *copy = *kind;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, kind->stack_bytes < 65536 ? 65536 : kind->stack_bytes);
    pthread_t thread;
    int status = pthread_create(&thread, &attr, libc_slot, copy);
    pthread_attr_destroy(&attr);
    return status;
}

int hrt_slot_make(const struct hrt_slot_kind *kind) {
    uint32_t before = __atomic_load_n(&slots_begun, __ATOMIC_ACQUIRE);
    int status = kind->bare ? hrt_calls->slot_add_bare(kind, slot_loop) : make_libc_slot(kind);
    while (status == 0 && __atomic_load_n(&slots_begun, __ATOMIC_ACQUIRE) == before) {
        hrt_calls->wait(&slots_begun, before, HRT_FOREVER, 1u /* HRT_WAIT_NO_INTR */);
    }
    return status;
}

#endif
