// SPDX-License-Identifier: Apache-2.0 OR MIT
// The table of threads. Records never move: blocks of them are allocated as the number of threads grows.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record.h"

#define BLOCK 1024u
#define BLOCKS 256u

pthread_mutex_t hrt_linux_records = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t hrt_linux_started = PTHREAD_COND_INITIALIZER;

static struct record *blocks[BLOCKS];
static uint32_t record_count;
static struct record *free_records;

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t end_key;

static struct record *at(uint32_t index) { return &blocks[index / BLOCK][index % BLOCK]; }

static struct record *grow(void) {
    if (record_count == BLOCK * BLOCKS) {
        return NULL;
    }
    if (record_count % BLOCK == 0) {
        struct record *block = calloc(BLOCK, sizeof *block);
        if (!block) {
            return NULL;
        }
        blocks[record_count / BLOCK] = block;
    }
    struct record *record = at(record_count);
    record->index = record_count++;
    return record;
}

struct record *hrt_linux_record_new(void) {
    struct record *record = free_records;
    if (record) {
        free_records = record->next_free;
    } else {
        record = grow();
        if (!record) {
            return NULL;
        }
    }
    uint32_t index = record->index, generation = record->generation + 1;
    memset(record, 0, sizeof *record);
    record->index = index;
    record->generation = generation;
    record->name = (uint64_t)generation << 32 | (index + 1);
    record->bound_cpu = HRT_CPU_ANY;
    record->group = -1;
    hrt_thread_attr_init(&record->attr);
    return record;
}

void hrt_linux_record_free(struct record *record) {
    free(record->values);
    record->values = NULL;
    record->name = 0;
    record->next_free = free_records;
    free_records = record;
}

struct record *hrt_linux_record_find(hrt_thread_t name) {
    uint32_t index = (uint32_t)name - 1;
    if (name == 0 || index >= record_count || at(index)->name != name) {
        return NULL;
    }
    return at(index);
}

struct record *hrt_linux_record_next(uint32_t index) {
    while (index < record_count && at(index)->name == 0) {
        index++;
    }
    return index < record_count ? at(index) : NULL;
}

// A foreign thread ends. Its other keys may still need the record: it goes in the last round of destructors.
static void foreign_end(void *arg) {
    struct record *self = arg;
    if (++self->end_rounds < 4) {
        hrt_keys_clean();
        pthread_setspecific(end_key, self);
        return;
    }
    hrt_linux_group_forget(self);
    hrt_local.linux_thread = NULL;
    pthread_mutex_lock(&hrt_linux_records);
    hrt_linux_record_free(self);
    pthread_mutex_unlock(&hrt_linux_records);
}

static void make_key(void) { pthread_key_create(&end_key, foreign_end); }

static struct record *adopt(void) {
    pthread_once(&key_once, make_key);
    pthread_mutex_lock(&hrt_linux_records);
    struct record *self = hrt_linux_record_new();
    if (self) {
        self->foreign = true;
        self->started = true;
        self->detached = true;
        self->thread = pthread_self();
        self->tid = (pid_t)syscall(SYS_gettid);
    }
    pthread_mutex_unlock(&hrt_linux_records);
    if (self) {
        hrt_local.linux_thread = self;
        pthread_setspecific(end_key, self);
    }
    return self;
}

struct record *hrt_linux_self(void) {
    struct record *self = hrt_local.linux_thread;
    return self ? self : adopt();
}
