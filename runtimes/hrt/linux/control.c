// SPDX-License-Identifier: Apache-2.0 OR MIT
// What can be done to a thread that runs: place, schedule, name; and what can be asked about it.
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "sysfs.h"

// Calls `change` on the thread with the lock held, so that it cannot vanish meanwhile.
static int with_thread(hrt_thread_t thread, int (*change)(struct record *record, const void *arg),
                       const void *arg) {
    // The caller may ask about itself before anything else: then it has no record yet.
    hrt_linux_self();
    pthread_mutex_lock(&hrt_linux_records);
    struct record *record;
    while ((record = hrt_linux_record_find(thread)) && !record->started) {
        pthread_cond_wait(&hrt_linux_started, &hrt_linux_records);
    }
    int status = !record || record->ended ? HRT_ESRCH : change(record, arg);
    pthread_mutex_unlock(&hrt_linux_records);
    return status;
}

static int set_cpu(pid_t tid, int32_t cpu) {
    cpu_set_t set;
    hrt_linux_cpu_set(cpu, &set);
    int saved = errno;
    int status = sched_setaffinity(tid, sizeof set, &set) == 0 ? HRT_OK : errno;
    errno = saved;
    return status;
}

static bool is_cpu(int32_t cpu) { return cpu >= 0 && (uint32_t)cpu < hrt_linux_cpu_count(); }

static int bind(struct record *record, const void *arg) {
    int32_t cpu = *(const int32_t *)arg;
    if (cpu != HRT_CPU_ANY && !is_cpu(cpu)) {
        return HRT_EINVAL;
    }
    int status = set_cpu(record->tid, cpu);
    if (status == HRT_OK) {
        record->bound_cpu = cpu;
    }
    return status;
}

int hrt_linux_thread_bind(hrt_thread_t thread, int32_t cpu) { return with_thread(thread, bind, &cpu); }

static int migrate(struct record *record, const void *arg) {
    int32_t cpu = *(const int32_t *)arg;
    if (!is_cpu(cpu)) {
        return HRT_EINVAL;
    }
    if (record->bound_cpu != HRT_CPU_ANY) {
        return record->bound_cpu == cpu ? HRT_OK : HRT_EBUSY;
    }
    int status = set_cpu(record->tid, cpu);
    return status == HRT_OK ? set_cpu(record->tid, HRT_CPU_ANY) : status;
}

int hrt_linux_thread_migrate(hrt_thread_t thread, int32_t cpu) { return with_thread(thread, migrate, &cpu); }

static int schedule(struct record *record, const void *arg) {
    struct hrt_thread_attr attr = record->attr;
    const struct hrt_thread_attr *wanted = arg;
    attr.policy = wanted->policy;
    attr.priority = wanted->priority;
    attr.period_ns = wanted->period_ns;
    attr.work_ns = wanted->work_ns;
    attr.deadline_ns = wanted->deadline_ns;
    attr.start_ns = wanted->start_ns;
    int status = wanted->size == sizeof *wanted ? hrt_linux_attr_check(&attr) : HRT_EINVAL;
    if (status != HRT_OK) {
        return status;
    }
    status = hrt_linux_schedule(record, &record->attr, &attr);
    if (status == HRT_OK) {
        record->attr = attr;
    }
    struct record *self = hrt_linux_self();
    if (status == HRT_EADMIT && self != record) {
        memcpy(self->refusal, record->refusal, sizeof self->refusal);
    }
    return status;
}

int hrt_linux_thread_set_schedule(hrt_thread_t thread, const struct hrt_thread_attr *attr) {
    return attr ? with_thread(thread, schedule, attr) : HRT_EINVAL;
}

int hrt_linux_thread_wait_period(uint64_t *missed) {
    struct record *self = hrt_linux_self();
    if (!self || self->attr.policy != HRT_POLICY_EDF_PERIODIC) {
        return HRT_EPERM;
    }
    uint64_t period = self->attr.period_ns, now = hrt_linux_now_ns();
    uint64_t next = self->period_start_ns + period;
    if (now >= next) {
        uint64_t late = (now - next) / period + 1;
        __atomic_fetch_add(&self->missed, late, __ATOMIC_RELAXED);
        next += late * period;
    }
    if (missed) {
        *missed = self->missed;
    }
    self->period_start_ns = next;
    return hrt_linux_thread_sleep_until(next);
}

const char *hrt_linux_admission_text(void) {
    struct record *self = hrt_linux_self();
    return self ? self->refusal : "";
}

void hrt_linux_show_name(pthread_t thread, const char *name) {
    char shown[16];
    snprintf(shown, sizeof shown, "%.15s", name);
    pthread_setname_np(thread, shown);
}

static int name(struct record *record, const void *arg) {
    snprintf(record->text, sizeof record->text, "%s", (const char *)arg);
    hrt_linux_show_name(record->thread, record->text);
    return HRT_OK;
}

int hrt_linux_thread_set_name(hrt_thread_t thread, const char *text) {
    return text ? with_thread(thread, name, text) : HRT_EINVAL;
}

// State, last CPU and switches from /proc. A thread may end meanwhile: then what was known last stays.
static void look(const struct record *record, struct hrt_thread_info *info) {
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)record->tid);
    FILE *file = hrt_sysfs_open(path);
    if (file && fgets(line, sizeof line, file)) {
        // The name may hold anything; fields count from behind its closing parenthesis: 3 state, 39 CPU.
        const char *field = strrchr(line, ')');
        if (field && field[1] && field[2] != 'R') {
            info->state = HRT_THREAD_WAITING;
        }
        for (int number = 2; field && number < 39; number++) {
            field = strchr(field + 1, ' ');
        }
        uint32_t cpu = 0;
        for (; field && cpu < hrt_linux_cpu_count(); cpu++) {
            if (hrt_linux_cpu_number(cpu) == (uint32_t)strtoul(field + 1, NULL, 10)) {
                info->cpu = (int32_t)cpu;
            }
        }
    }
    if (file) {
        fclose(file);
    }
    snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)record->tid);
    file = hrt_sysfs_open(path);
    unsigned long long switches;
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "voluntary_ctxt_switches: %llu", &switches) == 1 ||
            sscanf(line, "nonvoluntary_ctxt_switches: %llu", &switches) == 1) {
            info->switches += switches;
        }
    }
    if (file) {
        fclose(file);
    }
}

static void fill(struct record *record, struct hrt_thread_info *info) {
    *info = (struct hrt_thread_info){
        .thread = record->name,
        .creator = record->creator,
        .state = record->ended ? HRT_THREAD_DONE : HRT_THREAD_RUNNING,
        .bound_cpu = record->bound_cpu,
        .policy = record->attr.policy,
        .priority = record->attr.priority,
        .flags = (record->attr.flags & ~HRT_THREAD_DETACHED) | (record->detached ? HRT_THREAD_DETACHED : 0),
        .deadlines_missed = __atomic_load_n(&record->missed, __ATOMIC_RELAXED),
    };
    if (record->stack) {
        info->stack_bottom = record->stack - record->attr.stack_bytes;
        info->stack_top = record->stack;
    }
    memcpy(info->name, record->text, sizeof info->name);
    clockid_t clock;
    struct timespec time;
    bool live = record->started && !record->ended;
    if (live && pthread_getcpuclockid(record->thread, &clock) == 0 && clock_gettime(clock, &time) == 0) {
        info->run_ns = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    }
    if (live) {
        look(record, info);
    }
}

int hrt_linux_thread_info(hrt_thread_t thread, struct hrt_thread_info *info, uint64_t info_bytes) {
    if (!info || info_bytes != sizeof *info) {
        return HRT_EINVAL;
    }
    hrt_linux_self();
    pthread_mutex_lock(&hrt_linux_records);
    struct record *record = hrt_linux_record_find(thread);
    if (record) {
        fill(record, info);
    }
    pthread_mutex_unlock(&hrt_linux_records);
    return record ? HRT_OK : HRT_ESRCH;
}

uint64_t hrt_linux_thread_list(hrt_thread_t *threads, uint64_t capacity) {
    uint64_t count = 0;
    hrt_linux_self();
    pthread_mutex_lock(&hrt_linux_records);
    struct record *record;
    for (uint32_t index = 0; (record = hrt_linux_record_next(index)); index = record->index + 1) {
        if (!record->ended) {
            if (count < capacity) {
                threads[count] = record->name;
            }
            count++;
        }
    }
    pthread_mutex_unlock(&hrt_linux_records);
    return count;
}
