// SPDX-License-Identifier: Apache-2.0 OR MIT
// Attributes of threads, as far as Linux lets an ordinary process have them: priorities become nice values
// where that is allowed; run to completion and aperiodic deadlines are remembered only; periodic and sporadic
// threads need SCHED_DEADLINE, or the request is refused with Linux's reason.
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record.h"

#define STACK_MAX (1ull << 32)
#define POLICY_DEADLINE 6 /* SCHED_DEADLINE of linux/sched.h, which clashes with libc's header */

// struct sched_attr of sched_setattr(2), in its first form.
struct deadline_attr {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

static bool schedule_is_right(const struct hrt_thread_attr *attr) {
    if (attr->policy > HRT_POLICY_EDF_APERIODIC || attr->priority < 0 || attr->priority >= HRT_PRIORITIES) {
        return false;
    }
    switch (attr->policy) {
    case HRT_POLICY_EDF_PERIODIC:
        return attr->period_ns != 0 && attr->work_ns != 0 && attr->work_ns <= attr->period_ns;
    case HRT_POLICY_EDF_SPORADIC:
        return attr->deadline_ns != 0 && attr->work_ns != 0 && attr->work_ns <= attr->deadline_ns;
    case HRT_POLICY_EDF_APERIODIC:
        return attr->deadline_ns != 0;
    default:
        return true;
    }
}

int hrt_linux_attr_check(const struct hrt_thread_attr *attr) {
    const uint32_t flags = HRT_THREAD_DETACHED | HRT_THREAD_BARE | HRT_THREAD_STEALABLE;
    struct hrt_cpu_info info;
    if (attr->size != sizeof *attr || (attr->flags & ~flags) || !schedule_is_right(attr) ||
        attr->stack_bytes < HRT_STACK_MIN || attr->stack_bytes > STACK_MAX) {
        return HRT_EINVAL;
    }
    if (attr->cpu != HRT_CPU_ANY && (attr->cpu < 0 || (uint32_t)attr->cpu >= hrt_linux_cpu_count())) {
        return HRT_EINVAL;
    }
    if (attr->zone != HRT_ZONE_ANY && (attr->zone < 0 || (uint32_t)attr->zone >= hrt_linux_zone_count())) {
        return HRT_EINVAL;
    }
    if (attr->cpu != HRT_CPU_ANY && attr->zone != HRT_ZONE_ANY) {
        hrt_linux_cpu_info((uint32_t)attr->cpu, &info, sizeof info);
        return info.zone == (uint32_t)attr->zone ? HRT_OK : HRT_EINVAL;
    }
    return HRT_OK;
}

static int admit(struct record *record, const struct hrt_thread_attr *attr) {
    bool periodic = attr->policy == HRT_POLICY_EDF_PERIODIC;
    uint64_t span = periodic ? attr->period_ns : attr->deadline_ns;
    struct deadline_attr request = {
        .size = sizeof request,
        .policy = POLICY_DEADLINE,
        .runtime = attr->work_ns,
        .deadline = span,
        .period = span,
    };
    int saved = errno;
    int status = syscall(SYS_sched_setattr, record->tid, &request, 0) == 0 ? HRT_OK : HRT_EADMIT;
    if (status == HRT_EADMIT) {
        snprintf(record->refusal, sizeof record->refusal,
                 "Linux refuses SCHED_DEADLINE for %llu ns in each %llu ns: %s",
                 (unsigned long long)attr->work_ns, (unsigned long long)span,
                 errno == EPERM   ? "the process may not (CAP_SYS_NICE), or the thread is bound to a CPU"
                 : errno == EBUSY ? "the CPUs have no such share left"
                                  : strerror(errno));
    }
    errno = saved;
    return status;
}

static bool is_admitted(const struct hrt_thread_attr *attr) {
    return attr->policy == HRT_POLICY_EDF_PERIODIC || attr->policy == HRT_POLICY_EDF_SPORADIC;
}

int hrt_linux_schedule(struct record *record, const struct hrt_thread_attr *old,
                       const struct hrt_thread_attr *attr) {
    int saved = errno;
    if (is_admitted(attr)) {
        int status = admit(record, attr);
        if (status != HRT_OK) {
            return status;
        }
    } else if (is_admitted(old)) {
        sched_setscheduler(record->tid, SCHED_OTHER, &(struct sched_param){0});
    }
    if (attr->priority != old->priority) {
        // More urgent than the default needs a privilege: without it the wish is remembered only.
        setpriority(PRIO_PROCESS, (id_t)record->tid, HRT_PRIORITY_DEFAULT - attr->priority);
    }
    errno = saved;
    record->period_start_ns = attr->start_ns ? attr->start_ns : hrt_linux_now_ns();
    __atomic_store_n(&record->missed, 0, __ATOMIC_RELAXED);
    return HRT_OK;
}

int hrt_linux_schedule_self(struct record *self) {
    struct hrt_thread_attr fresh;
    hrt_thread_attr_init(&fresh);
    if (self->attr.cpu == HRT_CPU_ANY && self->attr.zone != HRT_ZONE_ANY) {
        hrt_linux_bind_caller_to_zone((uint32_t)self->attr.zone);
    } else {
        hrt_linux_bind_caller(self->attr.cpu);
    }
    if (self->attr.name) {
        hrt_linux_show_name(pthread_self(), self->text);
    }
    return hrt_linux_schedule(self, &fresh, &self->attr);
}
