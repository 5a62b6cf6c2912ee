// SPDX-License-Identifier: Apache-2.0 OR MIT
// Groups: at Linux user level the members meet at a barrier, agree on a start, and sleep to it and to each
// period on the same clock. Linux bounds no one's lateness: a skew below what its timers usually keep is
// refused.
#define _GNU_SOURCE
#include <stdio.h>

#include "record.h"

#define GROUPS 64
#define SKEW_LEAST_NS 1000000u /* what an unloaded Linux keeps */
#define START_AFTER_NS 2000000u

struct group {
    uint32_t generation; /* odd: in use */
    uint32_t places, members;
    uint32_t arrived; /* at the admission under way */
    uint32_t round;
    int status;
    uint64_t skew_ns, start_ns;
    struct hrt_thread_attr schedule; /* the first one's */
    uint64_t cpus[64];               /* bound CPUs of the members, a bit each */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct group groups[GROUPS];

static struct group *find(uint32_t name) {
    struct group *group = &groups[name % GROUPS];
    return group->generation % 2 == 1 && group->generation == name / GROUPS ? group : NULL;
}

int hrt_linux_group_create(const struct hrt_group_attr *attr, uint32_t *name) {
    if (!attr || attr->size != sizeof *attr || attr->members == 0 || attr->members > hrt_linux_cpu_count()) {
        return HRT_EINVAL;
    }
    int status = HRT_EAGAIN;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < GROUPS && status != HRT_OK; i++) {
        if (groups[i].generation % 2 == 0) {
            groups[i] = (struct group){
                .generation = groups[i].generation + 1, .places = attr->members, .skew_ns = attr->skew_ns};
            *name = groups[i].generation * GROUPS + i;
            status = HRT_OK;
        }
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static uint64_t *cpu_word(struct group *group, int32_t cpu) { return &group->cpus[(uint32_t)cpu / 64 % 64]; }

static int join(struct group *group, uint32_t name, struct record *self) {
    if (!group) {
        return HRT_ESRCH;
    }
    if (self->group >= 0) {
        return HRT_EEXIST;
    }
    uint64_t bit = 1ull << (uint32_t)self->bound_cpu % 64;
    if (self->bound_cpu == HRT_CPU_ANY || (*cpu_word(group, self->bound_cpu) & bit)) {
        return HRT_EINVAL;
    }
    if (group->members == group->places) {
        return HRT_ENOSPC;
    }
    *cpu_word(group, self->bound_cpu) |= bit;
    group->members++;
    self->group = (int32_t)name;
    self->group_cpu = self->bound_cpu;
    pthread_cond_broadcast(&changed);
    return HRT_OK;
}

int hrt_linux_group_join(uint32_t name) {
    struct record *self = hrt_linux_self();
    if (!self) {
        return HRT_ENOMEM;
    }
    pthread_mutex_lock(&lock);
    int status = join(find(name), name, self);
    pthread_mutex_unlock(&lock);
    return status;
}

static int leave(struct record *self, uint32_t name) {
    struct group *group = find(name);
    if (!group) {
        return HRT_ESRCH;
    }
    if (self->group != (int32_t)name) {
        return HRT_EPERM;
    }
    *cpu_word(group, self->group_cpu) &= ~(1ull << (uint32_t)self->group_cpu % 64);
    group->members--;
    self->group = -1;
    pthread_cond_broadcast(&changed);
    return HRT_OK;
}

int hrt_linux_group_leave(uint32_t name) {
    struct record *self = hrt_linux_self();
    if (!self) {
        return HRT_ENOMEM;
    }
    pthread_mutex_lock(&lock);
    int status = leave(self, name);
    pthread_mutex_unlock(&lock);
    return status;
}

void hrt_linux_group_forget(struct record *record) {
    if (record->group >= 0) {
        pthread_mutex_lock(&lock);
        leave(record, (uint32_t)record->group);
        pthread_mutex_unlock(&lock);
    }
}

static bool same(const struct hrt_thread_attr *one, const struct hrt_thread_attr *other) {
    return one->policy == other->policy && one->period_ns == other->period_ns &&
           one->work_ns == other->work_ns;
}

// The last member decides for all.
static void decide(struct group *group) {
    const struct hrt_thread_attr *wanted = &group->schedule;
    bool bearable = group->skew_ns == 0 || group->skew_ns >= SKEW_LEAST_NS;
    if (group->status == HRT_OK && !bearable) {
        group->status = HRT_EADMIT;
    }
    uint64_t earliest = hrt_linux_now_ns() + START_AFTER_NS;
    group->start_ns = wanted->start_ns > earliest ? wanted->start_ns : earliest;
    group->arrived = 0;
    group->round++;
    pthread_cond_broadcast(&changed);
}

static int admit(struct group *group, const struct hrt_thread_attr *wanted, uint64_t *start_ns) {
    if (group->arrived == 0) {
        group->schedule = *wanted;
        group->status = HRT_OK;
    } else if (!same(&group->schedule, wanted)) {
        group->status = HRT_EINVAL;
    }
    uint32_t round = group->round;
    if (++group->arrived == group->places) {
        decide(group);
    }
    while (group->round == round) {
        pthread_cond_wait(&changed, &lock);
    }
    *start_ns = group->start_ns;
    return group->status;
}

int hrt_linux_group_admit(uint32_t name, const struct hrt_thread_attr *schedule) {
    struct record *self = hrt_linux_self();
    bool right = schedule && schedule->size == sizeof *schedule &&
                 schedule->policy == HRT_POLICY_EDF_PERIODIC && schedule->period_ns != 0 &&
                 schedule->work_ns != 0 && schedule->work_ns <= schedule->period_ns;
    if (!self || !right) {
        return self ? HRT_EINVAL : HRT_ENOMEM;
    }
    uint64_t start_ns = 0, skew_ns = 0;
    int status = HRT_ESRCH;
    pthread_mutex_lock(&lock);
    struct group *group = find(name);
    if (group) {
        skew_ns = group->skew_ns;
        status = self->group == (int32_t)name ? admit(group, schedule, &start_ns) : HRT_EPERM;
    }
    pthread_mutex_unlock(&lock);
    if (status == HRT_EADMIT) {
        snprintf(self->refusal, sizeof self->refusal,
                 "a skew of %llu ns was asked for; Linux at user level keeps %u ns at best",
                 (unsigned long long)skew_ns, SKEW_LEAST_NS);
    }
    if (status != HRT_OK) {
        return status;
    }
    self->attr.policy = HRT_POLICY_EDF_PERIODIC;
    self->attr.period_ns = schedule->period_ns;
    self->attr.work_ns = schedule->work_ns;
    self->period_start_ns = start_ns;
    while (hrt_linux_thread_sleep_until(start_ns) == HRT_EINTR) {
    }
    return HRT_OK;
}

int hrt_linux_group_destroy(uint32_t name) {
    pthread_mutex_lock(&lock);
    struct group *group = find(name);
    int status = !group ? HRT_ESRCH : group->members ? HRT_EBUSY : HRT_OK;
    if (status == HRT_OK) {
        group->generation++;
    }
    pthread_mutex_unlock(&lock);
    return status;
}
