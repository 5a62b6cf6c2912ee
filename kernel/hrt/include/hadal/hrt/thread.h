/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Threads. A thread has a stack, a schedule and, unless it is bare, everything libc needs: errno, malloc,
 * stdio, thread_local, exceptions. Ended threads leave stack and TLS block ready for the next one, per CPU
 * and in that CPU's zone, so creation allocates nothing and takes no shared lock in the steady state.
 */
#ifndef HADAL_HRT_THREAD_H
#define HADAL_HRT_THREAD_H

#include "calls.h"
#include "layout/thread.h"

HRT_BEGIN

/* Defaults: joinable, any CPU, round robin, default priority and stack. */
static inline void hrt_thread_attr_init(struct hrt_thread_attr *attr) {
    __builtin_memset(attr, 0, sizeof *attr);
    attr->size = sizeof *attr;
    attr->cpu = HRT_CPU_ANY;
    attr->zone = HRT_ZONE_ANY;
    attr->priority = HRT_PRIORITY_DEFAULT;
    attr->stack_bytes = HRT_STACK_DEFAULT;
}

/* libhrt's slow path: makes the slot that the pool lacks. */
int hrt_slot_make(const struct hrt_slot_kind *kind);

/*
 * Starts a thread that runs fn(arg). `attr` may be NULL for the defaults, `thread` NULL if the name is not
 * wanted. HRT_EINVAL: an attribute out of range (bad CPU or zone included); HRT_EADMIT: a schedule that the
 * CPU cannot keep; HRT_EAGAIN: the thread table is full; HRT_ENOMEM: no stack.
 */
static inline int hrt_thread_create(hrt_thread_t *thread, const struct hrt_thread_attr *attr,
                                    hrt_thread_fn fn, void *arg) {
    struct hrt_slot_kind need;
    for (;;) {
        int status = hrt_calls->thread_create(attr, fn, arg, thread, &need);
        if (HRT_LIKELY(status != HRT_ENOSPC)) {
            return status;
        }
        status = hrt_slot_make(&need);
        if (status != HRT_OK) {
            return status;
        }
    }
}

#define HRT_FORK_CHILD (-1)

/*
 * Forks: returns HRT_OK in the parent, with the child's name in `*child`, HRT_FORK_CHILD in the child, or why
 * there is no child. The child has a copy of the calling function's frame and ends where that function
 * returns; the function's result, if it is an integer or a pointer, is what hrt_thread_join() gives. What
 * pointed to a local of the function, from another local, points to the copy in the child; pointers to its
 * locals that were stored elsewhere still point to the parent's. The frames of the function's callers do not
 * exist for the child, nor do arguments of the function that are on the stack (from the seventh on). A macro,
 * because the calling function must keep a frame pointer. Not from a function with a variable-length array.
 * HRT_EINVAL: the stack is not twice as large as the frame.
 */
int hrt_fork_frame(const struct hrt_thread_attr *attr, hrt_thread_t *child, void *frame);
#define hrt_thread_fork(attr, child) hrt_forked(hrt_fork_frame((attr), (child), __builtin_frame_address(0)))

/*
 * Waits for a thread's end and gives its result (`result` may be NULL). HRT_ESRCH: joined already or detached
 * and gone; HRT_EINVAL: detached; HRT_EBUSY: another thread is joining it; HRT_EDEADLK: oneself;
 * HRT_ETIMEDOUT.
 */
static inline int hrt_thread_join_until(hrt_thread_t thread, void **result, uint64_t deadline_ns) {
    return hrt_calls->thread_join(thread, result, deadline_ns);
}
static inline int hrt_thread_join(hrt_thread_t thread, void **result) {
    return hrt_calls->thread_join(thread, result, HRT_FOREVER);
}
/* Joins every joinable thread that the caller has created or forked and not joined. */
static inline int hrt_thread_join_all(void) { return hrt_calls->thread_join_all(HRT_FOREVER); }
/* Gives up the right to join. HRT_ESRCH, HRT_EINVAL (detached already). */
static inline int hrt_thread_detach(hrt_thread_t thread) { return hrt_calls->thread_detach(thread); }
/* Ends the calling thread at once; key destructors run, C++ destructors on the stack do not. For a thread
 * that this interface did not make it is pthread_exit(). */
__attribute__((noreturn)) void hrt_thread_exit(void *result);
static inline hrt_thread_t hrt_thread_self(void) { return hrt_calls->thread_self(); }
/* Lets the next ready thread of equal or higher priority of this CPU run. As at any call, the C ABI's
 * caller-saved registers, vector registers among them, are lost. */
static inline void hrt_thread_yield(void) { hrt_calls->thread_yield(); }
/* The same for code generators that keep values in vector registers across calls: every register survives. */
static inline void hrt_thread_yield_full(void) { hrt_calls->thread_yield_full(); }
/* Sleeps until the deadline; HRT_EINTR after a signal handler. */
static inline int hrt_thread_sleep_until(uint64_t deadline_ns) {
    return hrt_calls->thread_sleep_until(deadline_ns);
}
/* Binds a thread to a CPU (it has moved when this returns, if it is the caller), or with HRT_CPU_ANY frees
 * it. */
static inline int hrt_thread_bind(hrt_thread_t thread, int32_t cpu) {
    return hrt_calls->thread_bind(thread, cpu);
}
/* Moves a thread without binding it. HRT_EBUSY: it is bound elsewhere. */
static inline int hrt_thread_migrate(hrt_thread_t thread, int32_t cpu) {
    return hrt_calls->thread_migrate(thread, cpu);
}
/* Changes policy, priority and real-time parameters; other fields of `attr` are ignored. */
static inline int hrt_thread_set_schedule(hrt_thread_t thread, const struct hrt_thread_attr *attr) {
    return hrt_calls->thread_set_schedule(thread, attr);
}
/* Why the calling thread's last request got HRT_EADMIT: a sentence with the numbers; never NULL. */
static inline const char *hrt_admission_text(void) { return hrt_calls->admission_text(); }
/* A periodic thread is done with this period's work: sleeps until its next period. `missed` (or NULL) gets
 * the number of deadlines missed so far. HRT_EPERM: the caller is not periodic. */
static inline int hrt_thread_wait_period(uint64_t *missed) { return hrt_calls->thread_wait_period(missed); }
static inline int hrt_thread_set_name(hrt_thread_t thread, const char *name) {
    return hrt_calls->thread_set_name(thread, name);
}
static inline int hrt_thread_info(hrt_thread_t thread, struct hrt_thread_info *info) {
    return hrt_calls->thread_info(thread, info, sizeof *info);
}
/* Fills in the names of the program's live threads and returns how many there are, which may be more than
 * `capacity`. */
static inline uint64_t hrt_thread_list(hrt_thread_t *threads, uint64_t capacity) {
    return hrt_calls->thread_list(threads, capacity);
}

/* Thread-local data by key, also for bare threads; destructors run when a thread ends, in no order, up to
 * four rounds. HRT_ENOSPC: all HRT_KEYS_MAX are taken; HRT_EINVAL: no such key. */
static inline int hrt_key_create(uint32_t *key, void (*destructor)(void *value)) {
    return hrt_calls->key_create(key, destructor);
}
static inline int hrt_key_delete(uint32_t key) { return hrt_calls->key_delete(key); }
static inline void *hrt_key_get(uint32_t key) { return hrt_calls->key_get(key); }
static inline int hrt_key_set(uint32_t key, void *value) { return hrt_calls->key_set(key, value); }

/* Groups: see struct hrt_group_attr. */
static inline int hrt_group_create(const struct hrt_group_attr *attr, uint32_t *group) {
    return hrt_calls->group_create(attr, group);
}
/* The calling thread becomes a member. HRT_ENOSPC: all places are taken; HRT_EEXIST: it is one; HRT_EINVAL:
 * not bound, or another member is bound to the same CPU. */
static inline int hrt_group_join(uint32_t group) { return hrt_calls->group_join(group); }
static inline int hrt_group_leave(uint32_t group) { return hrt_calls->group_leave(group); }
/* Called by every member with the same schedule (HRT_POLICY_EDF_PERIODIC): all are admitted, or none and
 * every call returns HRT_EADMIT. Returns when the group's first period has begun. */
static inline int hrt_group_admit(uint32_t group, const struct hrt_thread_attr *schedule) {
    return hrt_calls->group_admit(group, schedule);
}
/* HRT_EBUSY: it has members. */
static inline int hrt_group_destroy(uint32_t group) { return hrt_calls->group_destroy(group); }

HRT_END

#endif
