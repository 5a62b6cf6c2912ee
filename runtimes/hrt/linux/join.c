// SPDX-License-Identifier: Apache-2.0 OR MIT
// Joining and detaching, with the errors that hrt/thread.h names.
#define _GNU_SOURCE
#include "record.h"

// Gives the caller the sole right to join.
static int claim(hrt_thread_t thread, struct record **out, pthread_t *pthread) {
    hrt_thread_t self = hrt_linux_thread_self();
    int status = HRT_OK;
    pthread_mutex_lock(&hrt_linux_records);
    struct record *record = hrt_linux_record_find(thread);
    if (!record) {
        status = HRT_ESRCH;
    } else if (thread == self) {
        status = HRT_EDEADLK;
    } else if (record->detached) {
        status = HRT_EINVAL;
    } else if (record->joining) {
        status = HRT_EBUSY;
    } else {
        record->joining = true;
        *out = record;
        *pthread = record->thread;
    }
    pthread_mutex_unlock(&hrt_linux_records);
    return status;
}

static int wait_done(struct record *record, uint64_t deadline_ns) {
    int status = HRT_OK;
    uint32_t seen = RUNNING;
    __atomic_compare_exchange_n(&record->done, &seen, RUNNING_WAITED, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_ACQUIRE);
    while (status != HRT_ETIMEDOUT && __atomic_load_n(&record->done, __ATOMIC_ACQUIRE) != DONE) {
        status = hrt_linux_wait(&record->done, RUNNING_WAITED, deadline_ns, HRT_WAIT_NO_INTR);
    }
    return __atomic_load_n(&record->done, __ATOMIC_ACQUIRE) == DONE ? HRT_OK : HRT_ETIMEDOUT;
}

int hrt_linux_thread_join(hrt_thread_t thread, void **result, uint64_t deadline_ns) {
    struct record *record;
    pthread_t pthread;
    int status = claim(thread, &record, &pthread);
    if (status != HRT_OK) {
        return status;
    }
    if (deadline_ns != HRT_FOREVER && wait_done(record, deadline_ns) != HRT_OK) {
        pthread_mutex_lock(&hrt_linux_records);
        record->joining = false;
        pthread_mutex_unlock(&hrt_linux_records);
        return HRT_ETIMEDOUT;
    }
    pthread_join(pthread, NULL);
    if (result) {
        *result = record->result;
    }
    pthread_mutex_lock(&hrt_linux_records);
    hrt_linux_record_free(record);
    pthread_mutex_unlock(&hrt_linux_records);
    return HRT_OK;
}

// The first child from `index` on that nobody else joins or has detached; 0: none.
static hrt_thread_t next_child(hrt_thread_t creator, uint32_t *index) {
    hrt_thread_t found = 0;
    pthread_mutex_lock(&hrt_linux_records);
    struct record *record;
    while (!found && (record = hrt_linux_record_next(*index))) {
        *index = record->index + 1;
        if (record->creator == creator && !record->detached && !record->joining) {
            found = record->name;
        }
    }
    pthread_mutex_unlock(&hrt_linux_records);
    return found;
}

int hrt_linux_thread_join_all(uint64_t deadline_ns) {
    hrt_thread_t self = hrt_linux_thread_self(), child;
    uint32_t index = 0;
    while ((child = next_child(self, &index))) {
        if (hrt_linux_thread_join(child, NULL, deadline_ns) == HRT_ETIMEDOUT) {
            return HRT_ETIMEDOUT;
        }
    }
    return HRT_OK;
}

int hrt_linux_thread_detach(hrt_thread_t thread) {
    int status = HRT_OK;
    pthread_mutex_lock(&hrt_linux_records);
    struct record *record = hrt_linux_record_find(thread);
    if (!record) {
        status = HRT_ESRCH;
    } else if (record->detached) {
        status = HRT_EINVAL;
    } else if (record->joining) {
        status = HRT_EBUSY;
    } else {
        record->detached = true;
        pthread_detach(record->thread);
        if (record->ended) {
            hrt_linux_record_free(record);
        }
    }
    pthread_mutex_unlock(&hrt_linux_records);
    return status;
}
