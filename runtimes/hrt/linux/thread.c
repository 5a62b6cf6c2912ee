// SPDX-License-Identifier: Apache-2.0 OR MIT
// Threads at Linux user level: one pthread each, made when the thread is created and gone when it ends, so
// that what they cost is what Linux's cost. They run libhrt's slot loop, whose second slot_wait tells them to
// end.
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record.h"

static const struct hrt_thread_attr *or_defaults(const struct hrt_thread_attr *attr,
                                                 struct hrt_thread_attr *defaults) {
    if (!attr) {
        hrt_thread_attr_init(defaults);
        return defaults;
    }
    return attr;
}

static void wait_for(const uint32_t *word) {
    while (!__atomic_load_n(word, __ATOMIC_ACQUIRE)) {
        hrt_linux_wait(word, 0, HRT_FOREVER, HRT_WAIT_NO_INTR);
    }
}

static void announce(uint32_t *word) {
    __atomic_store_n(word, 1, __ATOMIC_RELEASE);
    hrt_linux_wake(word, INT_MAX, 0);
}

static void *start(void *arg) {
    struct record *self = arg;
    hrt_local.linux_thread = self;
    self->tid = (pid_t)syscall(SYS_gettid);
    self->admitted = hrt_linux_schedule_self(self);
    pthread_mutex_lock(&hrt_linux_records);
    self->thread = pthread_self();
    self->started = true;
    pthread_cond_broadcast(&hrt_linux_started);
    pthread_mutex_unlock(&hrt_linux_records);
    if (self->admitted != HRT_OK) {
        announce(&self->ready);
        return NULL;
    }
    struct hrt_slot_kind kind = self->kind;
    return hrt_slot_thread(&kind);
}

static struct record *new_record(const struct hrt_thread_attr *attr) {
    struct record *creator = hrt_linux_self();
    pthread_mutex_lock(&hrt_linux_records);
    struct record *record = hrt_linux_record_new();
    if (record) {
        record->attr = *attr;
        record->creator = creator ? creator->name : 0;
        record->bound_cpu = attr->cpu;
        record->detached = attr->flags & HRT_THREAD_DETACHED;
        record->kind = (struct hrt_slot_kind){.cpu = attr->cpu, .stack_bytes = attr->stack_bytes};
        strncpy(record->text, attr->name ? attr->name : "", sizeof record->text - 1);
    }
    pthread_mutex_unlock(&hrt_linux_records);
    return record;
}

static int make_pthread(struct record *record) {
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) != 0) {
        return HRT_ENOMEM;
    }
    int status = pthread_attr_setstacksize(&attr, record->attr.stack_bytes + hrt_tls_stack_bytes());
    if (status == 0 && record->detached) {
        status = pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    }
    if (status == 0) {
        // Not into the record: the thread may have ended, and the record be another's, by now.
        pthread_t thread;
        hrt_thread_t name = record->name;
        status = pthread_create(&thread, &attr, start, record);
        pthread_mutex_lock(&hrt_linux_records);
        if (status == 0 && hrt_linux_record_find(name)) {
            record->thread = thread;
        }
        pthread_mutex_unlock(&hrt_linux_records);
    }
    pthread_attr_destroy(&attr);
    return status;
}

static bool is_real_time(const struct hrt_thread_attr *attr) {
    return attr->policy == HRT_POLICY_EDF_PERIODIC || attr->policy == HRT_POLICY_EDF_SPORADIC;
}

static void forget(struct record *record) {
    pthread_mutex_lock(&hrt_linux_records);
    hrt_linux_record_free(record);
    pthread_mutex_unlock(&hrt_linux_records);
}

// Makes the thread; its work is in the record already, or `reserved` says that it comes later.
static int make(struct record *record, bool wait_ready) {
    bool detached = record->detached;
    record->watched = wait_ready;
    if (wait_ready) {
        // It must not end by itself while its record is looked at.
        record->detached = false;
    }
    int status = make_pthread(record);
    if (status != 0) {
        forget(record);
        return status;
    }
    if (!wait_ready) {
        return HRT_OK;
    }
    wait_for(&record->ready);
    status = record->admitted;
    if (status != HRT_OK) {
        struct record *creator = hrt_linux_self();
        if (creator) {
            memcpy(creator->refusal, record->refusal, sizeof creator->refusal);
        }
        pthread_join(record->thread, NULL);
        forget(record);
        return status;
    }
    if (detached) {
        hrt_linux_thread_detach(record->name);
    }
    return HRT_OK;
}

int hrt_linux_thread_create(const struct hrt_thread_attr *attr, hrt_thread_fn fn, void *arg,
                            hrt_thread_t *out, struct hrt_slot_kind *need) {
    (void)need;
    struct hrt_thread_attr defaults;
    attr = or_defaults(attr, &defaults);
    int status = fn ? hrt_linux_attr_check(attr) : HRT_EINVAL;
    if (status != HRT_OK) {
        return status;
    }
    struct record *record = new_record(attr);
    if (!record) {
        return HRT_EAGAIN;
    }
    hrt_thread_t name = record->name;
    record->work = (struct hrt_work){.fn = fn, .arg = arg};
    record->go = 1;
    status = make(record, is_real_time(attr));
    if (status == HRT_OK && out) {
        *out = name;
    }
    return status;
}

static struct hrt_reserved not_reserved(int status) {
    return (struct hrt_reserved){.stack = (uintptr_t)status};
}

struct hrt_reserved hrt_linux_thread_reserve(const struct hrt_thread_attr *attr, struct hrt_slot_kind *need) {
    (void)need;
    struct hrt_thread_attr defaults;
    attr = or_defaults(attr, &defaults);
    int status = hrt_linux_attr_check(attr);
    if (status != HRT_OK) {
        return not_reserved(status);
    }
    struct record *record = new_record(attr);
    if (!record) {
        return not_reserved(HRT_EAGAIN);
    }
    record->reserved = true;
    status = make(record, true);
    if (status != HRT_OK) {
        return not_reserved(status);
    }
    return (struct hrt_reserved){record->name, record->stack};
}

int hrt_linux_thread_start(hrt_thread_t thread, hrt_thread_fn fn, void *arg) {
    pthread_mutex_lock(&hrt_linux_records);
    struct record *record = hrt_linux_record_find(thread);
    int status = !record ? HRT_ESRCH : record->reserved ? HRT_OK : HRT_EINVAL;
    if (status == HRT_OK) {
        record->reserved = false;
        record->work = (struct hrt_work){.fn = fn, .arg = arg};
    }
    pthread_mutex_unlock(&hrt_linux_records);
    if (status == HRT_OK) {
        announce(&record->go);
    }
    return status;
}

struct hrt_reserved hrt_linux_thread_fork(const struct hrt_thread_attr *attr, hrt_thread_fn fn,
                                          struct hrt_slot_kind *need) {
    struct hrt_reserved made = hrt_linux_thread_reserve(attr, need);
    if (made.thread) {
        hrt_linux_thread_start(made.thread, fn, (void *)made.stack);
    }
    return made;
}

// The calling thread's work is done: its name is free when it has been joined, or now if nobody will.
static void end(struct record *self, void *result) {
    hrt_linux_group_forget(self);
    pthread_mutex_lock(&hrt_linux_records);
    self->result = result;
    self->ended = true;
    uint32_t before = __atomic_exchange_n(&self->done, DONE, __ATOMIC_ACQ_REL);
    if (self->detached) {
        hrt_local.linux_thread = NULL;
        hrt_linux_record_free(self);
    }
    pthread_mutex_unlock(&hrt_linux_records);
    if (before == RUNNING_WAITED) {
        hrt_linux_wake(&self->done, INT_MAX, 0);
    }
}

static bool has_values(const struct record *self) {
    for (uint32_t key = 0; self->values && key < HRT_KEYS_MAX; key++) {
        if (self->values[key].value) {
            return true;
        }
    }
    return false;
}

struct hrt_work hrt_linux_slot_wait(const struct hrt_slot_kind *kind, void *result) {
    (void)kind;
    struct record *self = hrt_local.linux_thread;
    if (self->ready && has_values(self)) {
        return (struct hrt_work){.arg = (void *)(uintptr_t)HRT_EBUSY};
    }
    if (self->ready) {
        end(self, result);
        return (struct hrt_work){.arg = (void *)(uintptr_t)HRT_EAGAIN};
    }
    // Below what the loop itself uses, as on the kernel.
    self->stack = (uintptr_t)hrt_local.slot - HRT_SLOT_FORK_BYTES - 64;
    if (!self->watched) {
        self->ready = 1;
    } else {
        announce(&self->ready);
        wait_for(&self->go);
    }
    return self->work;
}

void hrt_linux_slot_leave(void *result) { end(hrt_local.linux_thread, result); }

// The kernel's affair: here every thread has a libc behind it.
int hrt_linux_slot_add_bare(const struct hrt_slot_kind *kind,
                            void (*entry)(const struct hrt_slot_kind *kind)) {
    (void)kind, (void)entry;
    return HRT_ENOSYS;
}

hrt_thread_t hrt_linux_thread_self(void) {
    struct record *self = hrt_linux_self();
    return self ? self->name : 0;
}
