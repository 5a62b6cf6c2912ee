// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a thread inherits from its creator beside what the kernel gives its slot (HRT_THREAD_PTHREAD): CPUs,
// policy, priority. A slot can be bound to its creator's CPU. For the rest slots are as libc's threads are
// when nobody has changed any of that; so once somebody has, new threads are made by libc, and a slot whose
// own thread was changed is not used again.
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "thread.h"

static uint32_t changed;

bool hrt_pthread_inherits(void) { return HRT_LOAD(&changed, HRT_RELAXED) != 0; }

// Either the thread, which says first that it has ended, sees that its slot is spoilt, or the caller sees its
// end.
bool hrt_pthread_spoil(struct hrt_pthread *thread) {
    HRT_STORE(&thread->spoilt, 1, HRT_RELAXED);
    HRT_FENCE(HRT_SEQ_CST);
    uint32_t life = HRT_LOAD(&thread->life, HRT_RELAXED);
    return !thread->is_slot || life == HRT_PTHREAD_JOINABLE || life == HRT_PTHREAD_DETACHED;
}

static bool change(struct hrt_pthread *thread) {
    HRT_STORE(&changed, 1, HRT_RELAXED);
    return hrt_pthread_spoil(thread);
}

// The kernel's name of a thread, which libc puts into its CPU clock: ~tid << 3 (clock_gettime(2)).
int hrt_pthread_tid(pthread_t thread, pid_t *tid) {
    clockid_t clock;
    int error = pthread_getcpuclockid(thread, &clock);
    if (error == 0) {
        *tid = (pid_t) ~(clock >> 3);
    }
    return error;
}

int pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *param) {
    pid_t tid;
    int error = hrt_pthread_tid(thread, &tid);
    if (error != 0) {
        return error;
    }
    if (!change(hrt_pthread_of(thread))) {
        return ESRCH;
    }
    return __sched_setscheduler(tid, policy, param) == 0 ? 0 : errno;
}

int pthread_setschedprio(pthread_t thread, int priority) {
    struct sched_param param = {.sched_priority = priority};
    pid_t tid;
    int error = hrt_pthread_tid(thread, &tid);
    if (error != 0) {
        return error;
    }
    if (!change(hrt_pthread_of(thread))) {
        return ESRCH;
    }
    return __sched_setparam(tid, &param) == 0 ? 0 : errno;
}

int pthread_getschedparam(pthread_t thread, int *policy, struct sched_param *param) {
    pid_t tid;
    int error = hrt_pthread_tid(thread, &tid);
    if (error != 0) {
        return error;
    }
    *policy = sched_getscheduler(tid);
    return *policy >= 0 && sched_getparam(tid, param) == 0 ? 0 : errno;
}

// glibc's own code for asynchronous files calls these two by these names, and would bring its own files with
// both names of each along.
__typeof__(pthread_setschedparam) __pthread_setschedparam __attribute__((alias("pthread_setschedparam")));
__typeof__(pthread_getschedparam) __pthread_getschedparam __attribute__((alias("pthread_getschedparam")));

// Where a thread may run whose CPUs are set to these: the kernel leaves out those that it does not have.
static uint32_t cpus_of(size_t bytes, const cpu_set_t *cpus) {
    uint32_t machine = hrt_cpu_count(), count = 0, last = 0;
    for (uint32_t cpu = 0; cpu < machine && cpu < CHAR_BIT * bytes; cpu++) {
        if (CPU_ISSET_S(cpu, bytes, cpus)) {
            last = cpu;
            count++;
        }
    }
    if (count == machine) {
        return 0;
    }
    return count == 1 ? last + 1 : HRT_PTHREAD_CPUS_OTHER;
}

int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *cpus) {
    int error = __pthread_setaffinity_new(thread, bytes, cpus);
    if (error == 0) {
        HRT_STORE(&hrt_pthread_of(thread)->cpus, cpus_of(bytes, cpus), HRT_RELAXED);
    }
    return error;
}

// By the kernel's names only the calling thread is known to be ours.
int sched_setaffinity(pid_t tid, size_t bytes, const cpu_set_t *cpus) {
    int status = __sched_setaffinity_new(tid, bytes, cpus);
    if (status != 0) {
        return status;
    }
    if (tid == 0 || tid == gettid()) {
        HRT_STORE(&hrt_local.pthread.cpus, cpus_of(bytes, cpus), HRT_RELAXED);
    } else {
        change(&hrt_local.pthread);
    }
    return 0;
}

int sched_setscheduler(pid_t tid, int policy, const struct sched_param *param) {
    change(&hrt_local.pthread);
    return __sched_setscheduler(tid, policy, param);
}

int sched_setparam(pid_t tid, const struct sched_param *param) {
    change(&hrt_local.pthread);
    return __sched_setparam(tid, param);
}

// A signal for one thread that blocks it would stay for the next on its slot.
int pthread_kill(pthread_t thread, int signal) {
    struct hrt_pthread *target = hrt_pthread_of(thread);
    if (target->is_slot) {
        if (hrt_pthread_is_gone(target, HRT_LOAD(&target->life, HRT_ACQUIRE))) {
            return ESRCH;
        }
        if (!hrt_pthread_spoil(target)) {
            return signal >= 0 && signal < _NSIG ? 0 : EINVAL;
        }
    }
    return __pthread_kill(thread, signal);
}

int pthread_getattr_np(pthread_t thread, pthread_attr_t *attr) {
    int error = __pthread_getattr_np(thread, attr);
    struct hrt_pthread *target = hrt_pthread_of(thread);
    if (error == 0 && target->is_slot) {
        bool detached = HRT_LOAD(&target->life, HRT_RELAXED) == HRT_PTHREAD_DETACHED;
        pthread_attr_setdetachstate(attr, detached ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE);
    }
    return error;
}
