/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the files of libhrt-pthread share. */
#ifndef HADAL_RUNTIMES_HRT_PTHREAD_THREAD_H
#define HADAL_RUNTIMES_HRT_PTHREAD_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "../internal.h"

/* Of a thread on a slot, and of main. */
enum hrt_pthread_life {
    HRT_PTHREAD_NONE = 0, /* no thread of ours, or none at present */
    HRT_PTHREAD_JOINABLE, /* it runs */
    HRT_PTHREAD_DETACHED, /* it runs, and nobody may join it */
    HRT_PTHREAD_DONE,     /* its slot waits for its joiner, so that nobody else gets its pthread_t */
    HRT_PTHREAD_TAKEN,    /* main has been joined */
    HRT_PTHREAD_LEFT      /* it ended detached */
};

/* pthread_self() without a call: libc's descriptor is where the thread pointer points. By the compiler's
 * function for that GCC takes the distance below from the GOT, by an instruction that the linker cannot
 * relax. */
static inline pthread_t hrt_pthread_self(void) {
    pthread_t self;
    __asm__("movq %%fs:0, %0" : "=r"(self));
    return self;
}

/* Our data of a thread. Static thread-local data is at the same distance from libc's descriptor in all. */
static inline struct hrt_pthread *hrt_pthread_of(pthread_t thread) {
    char *own = (char *)hrt_pthread_self();
    return (struct hrt_pthread *)((char *)thread + ((char *)&hrt_local.pthread - own));
}
static inline pthread_t hrt_pthread_name(const struct hrt_local *local) {
    return (pthread_t)((char *)local - ((char *)&hrt_local - (char *)hrt_pthread_self()));
}

/* The status of a hadal/hrt.h function as an error number: they are the same but for these. */
int hrt_pthread_failure(int status);
static inline int hrt_pthread_error(int status) { return status == HRT_OK ? 0 : hrt_pthread_failure(status); }

/* Whether a thread with this life has ended for good, so that its name means nothing any more. */
static inline bool hrt_pthread_is_gone(const struct hrt_pthread *thread, uint32_t life) {
    struct hrt_thread_info info;
    /* Joined: the slot is free or another thread's. */
    bool joined =
        life == HRT_PTHREAD_DONE && thread->is_slot && hrt_thread_info(thread->thread, &info) == HRT_ESRCH;
    return joined || life == HRT_PTHREAD_NONE || life == HRT_PTHREAD_TAKEN || life == HRT_PTHREAD_LEFT;
}

/* end.c: threads that run, so that main can wait for them after pthread_exit(). */
void hrt_pthread_begins(void);
/* Runs the destructors of the calling thread, then forgets it. */
void hrt_pthread_clean(void);
void hrt_pthread_ended(void);
/* Does both when libc has run the destructors of the calling thread, which is not on a slot. */
int hrt_pthread_end_later(void);
/* Main has called pthread_exit(): announces that, waits for all others and ends the process. */
int hrt_pthread_end_main_later(void *result);

/* robust.c: the robust mutexes that the calling thread still holds have lost their owner. */
void hrt_pthread_give_up_robust(void);

/* inherit.c: the caller is about to change the thread so that its slot cannot be another's afterwards. False:
 * it has ended, and must be left alone. */
bool hrt_pthread_spoil(struct hrt_pthread *thread);
/* The kernel's name of a thread; ESRCH. */
int hrt_pthread_tid(pthread_t thread, pid_t *tid);
/* Whether a new thread differs from a fresh one of libc's in what it inherits. */
bool hrt_pthread_inherits(void);

/* cancel.c: the calling thread is about to sleep on `word`, and is cancelled here if that is wanted. What is
 * to be undone then is a cleanup handler's, which must call leave, too. */
struct hrt_cancel_point {
    int type;
};
void hrt_cancel_enter(struct hrt_cancel_point *point, const uint32_t *word);
void hrt_cancel_leave(const struct hrt_cancel_point *point);
/* A thread stops waiting because it is cancelled. */
void hrt_cancel_unwind(void);

/* deadline.c: EINVAL for what is not a time or not a clock that can be waited for. */
int hrt_deadline(clockid_t clock, const struct timespec *time, uint64_t *deadline_ns);
/* True when a wait until hrt_deadline()'s result timed out although `time` is still to come: the clock was
 * set, or the two differ by less than their resolution. */
bool hrt_deadline_is_early(clockid_t clock, const struct timespec *time, uint64_t *deadline_ns);

/* libc's own, for what this library does not do itself. */
int __pthread_create_2_1(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg);
_Noreturn void __pthread_exit(void *result);
int __pthread_join(pthread_t thread, void **result);
int __pthread_tryjoin_np(pthread_t thread, void **result);
int ___pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock, const struct timespec *time);
int ___pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *time);
int __pthread_detach(pthread_t thread);
int __pthread_cancel(pthread_t thread);
int __pthread_setcancelstate(int state, int *before);
int __pthread_setcanceltype(int type, int *before);
int __pthread_setattr_default_np(const pthread_attr_t *attr);
int __pthread_kill(pthread_t thread, int signal);
int __pthread_getattr_np(pthread_t thread, pthread_attr_t *attr);
int __pthread_setaffinity_new(pthread_t thread, size_t bytes, const cpu_set_t *cpus);
int __sched_setaffinity_new(pid_t tid, size_t bytes, const cpu_set_t *cpus);
int __sched_setparam(pid_t tid, const struct sched_param *param);
int __sched_setscheduler(pid_t tid, int policy, const struct sched_param *param);
int __pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr);
int __pthread_mutex_destroy(pthread_mutex_t *mutex);
int __pthread_mutex_lock(pthread_mutex_t *mutex);
int __pthread_mutex_trylock(pthread_mutex_t *mutex);
int __pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *time);
int __pthread_mutex_unlock(pthread_mutex_t *mutex);
void __pthread_register_cancel(__pthread_unwind_buf_t *buffer);
void __pthread_unregister_cancel(__pthread_unwind_buf_t *buffer);
_Noreturn void __pthread_unwind_next(__pthread_unwind_buf_t *buffer);
void __call_tls_dtors(void) __attribute__((weak));
void __nptl_deallocate_tsd(void);

#endif
