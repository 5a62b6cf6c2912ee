/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What libhrt-linux knows of a thread. */
#ifndef HRT_LINUX_RECORD_H
#define HRT_LINUX_RECORD_H

#include <pthread.h>
#include <sys/types.h>

#include "linux.h"

struct value {
    void *value;
    uint32_t key_generation; /* of the key when the value was set */
};

enum done { RUNNING = 0, RUNNING_WAITED = 1, DONE = 2 };

struct record {
    hrt_thread_t name; /* 0: free */
    uint32_t index;
    uint32_t generation;
    struct record *next_free;
    pthread_t thread;
    pid_t tid;
    hrt_thread_t creator;
    bool foreign; /* made by pthread_create, or the first thread */
    bool detached;
    bool joining;
    bool started; /* runs under its attributes; `tid` and `thread` are known */
    bool ended;
    struct hrt_slot_kind kind;
    struct hrt_thread_attr attr;
    int32_t bound_cpu;
    struct hrt_work work;
    void *result;
    uint32_t done;       /* enum done: what joiners with a deadline wait for */
    uint32_t ready;      /* has reached slot_wait, with `admitted` and `stack` set */
    uint32_t go;         /* has work */
    uint32_t end_rounds; /* of a foreign thread: calls of its key's destructor */
    bool reserved;
    bool watched; /* its creator waits for `ready` */
    int admitted; /* what Linux said about its schedule */
    uintptr_t stack;
    uint64_t period_start_ns; /* of the current period, for periodic threads */
    uint64_t missed;
    struct value *values; /* HRT_KEYS_MAX of them, once one is set */
    int32_t group;        /* or -1 */
    int32_t group_cpu;    /* where it was bound when it joined */
    char text[HRT_NAME_BYTES];
    char refusal[160]; /* hrt_admission_text */
};

/* Everything in records but what belongs to their own thread is under this lock. */
extern pthread_mutex_t hrt_linux_records;
/* A thread has started. */
extern pthread_cond_t hrt_linux_started;

/* The caller's record; a foreign thread gets one. NULL: no memory. */
struct record *hrt_linux_self(void);
/* With the lock held: a new record; NULL: the table is full, or no memory. */
struct record *hrt_linux_record_new(void);
/* With the lock held. */
void hrt_linux_record_free(struct record *record);
/* With the lock held: the thread of that name, NULL if there is none. */
struct record *hrt_linux_record_find(hrt_thread_t name);
/* With the lock held: the first thread in use with at least this index, NULL behind the last. */
struct record *hrt_linux_record_next(uint32_t index);

/* Checks what hrt/thread.h says about attributes. */
int hrt_linux_attr_check(const struct hrt_thread_attr *attr);
/* Lets Linux's thread, which follows `old`, follow `attr` as far as it can; HRT_EADMIT with `refusal` of the
 * record set. */
int hrt_linux_schedule(struct record *record, const struct hrt_thread_attr *old,
                       const struct hrt_thread_attr *attr);
/* By the thread itself: runs under its attributes from now on, its CPU or zone included. */
int hrt_linux_schedule_self(struct record *self);
/* Tells Linux a thread's name, as much of it as fits. */
void hrt_linux_show_name(pthread_t thread, const char *name);
/* Takes a thread that ends out of its group. */
void hrt_linux_group_forget(struct record *record);

#endif
