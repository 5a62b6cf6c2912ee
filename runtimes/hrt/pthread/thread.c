// SPDX-License-Identifier: Apache-2.0 OR MIT
// Threads. One without special wishes runs on a slot: stack, TLS block and libc's descriptor are there
// already. One that wants a stack of its own, a guard, a schedule or CPUs is a fresh thread of libc's.
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "thread.h"

// sigsetjmp without the signal mask: a macro's name only, so declared here.
int hrt_setjmp(void *buffer, int save_mask) __asm__("__sigsetjmp") __attribute__((returns_twice));

int hrt_pthread_failure(int status) {
    switch (status) {
    case HRT_ENOSPC:
    case HRT_ENOMEM:
    case HRT_EOVERFLOW:
        return EAGAIN;
    case HRT_EADMIT:
        return EPERM;
    default:
        return status;
    }
}

// --- threads on slots

static void block_signals(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

// Unwinding has come to run(): what it left behind inside is forgotten.
static void land(__pthread_unwind_buf_t *landing) {
    __pthread_unregister_cancel(landing);
    __pthread_register_cancel(landing);
}

// No request takes effect from here on: later ones see `ending`, and libc is told only where there may be an
// earlier one.
static void refuse_cancellation(struct hrt_pthread *self) {
    HRT_STORE(&self->ending, 1, HRT_RELAXED);
    HRT_FENCE(HRT_SEQ_CST);
    if (HRT_UNLIKELY(HRT_LOAD(&self->spoilt, HRT_RELAXED) != 0)) {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    }
}

// The slot's next thread can be cancelled as a new one can.
static void allow_cancellation(const struct hrt_pthread *self) {
    if (HRT_UNLIKELY(self->cancel_type != PTHREAD_CANCEL_DEFERRED)) {
        pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
    }
    if (HRT_UNLIKELY(self->cancel_state != PTHREAD_CANCEL_ENABLE)) {
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    }
}

// The last of the thread that its name stands for. From here on its slot lets a joiner go, if there is to be
// one.
static void end(struct hrt_pthread *self) {
    refuse_cancellation(self);
    hrt_pthread_clean();
    hrt_local.exit = NULL;
    if (HRT_LOAD(&self->spoilt, HRT_RELAXED) != 0) {
        hrt_pthread_give_up_robust();
    }
    // Before the look at `spoilt`: see hrt_pthread_spoil().
    uint32_t life = HRT_PTHREAD_JOINABLE;
    if (!HRT_CAS(&self->life, &life, HRT_PTHREAD_DONE, HRT_SEQ_CST)) {
        HRT_EXCHANGE(&self->life, HRT_PTHREAD_LEFT, HRT_SEQ_CST);
    }
    self->cpus = 0;
    hrt_pthread_ended();
}

// The work of a slot. pthread_exit() and cancellation unwind to here: after the former the slot goes on,
// after the latter libc's descriptor is marked for good and the thread must end.
static void *run(void *arg) {
    struct hrt_pthread *self = arg;
    __pthread_unwind_buf_t landing;
    hrt_local.exit = pthread_exit;
    if (hrt_setjmp(landing.__cancel_jmp_buf, 0) == 0) {
        __pthread_register_cancel(&landing);
        self->result = self->start(self->arg);
    } else {
        land(&landing);
        if (self->ends == 0) {
            self->result = PTHREAD_CANCELED;
            self->spoilt = 1;
        }
    }
    end(self);
    if (HRT_LOAD(&self->spoilt, HRT_RELAXED) != 0) {
        hrt_local.leaves = self->result;
        __pthread_unwind_next(&landing);
    }
    allow_cancellation(self);
    __pthread_unregister_cancel(&landing);
    return self->result;
}

// Stack size of a thread without attributes; 0: not asked for yet.
static size_t default_stack_bytes;

static size_t default_stack(void) {
    size_t bytes = HRT_LOAD(&default_stack_bytes, HRT_RELAXED);
    pthread_attr_t defaults;
    if (HRT_UNLIKELY(bytes == 0) && pthread_getattr_default_np(&defaults) == 0) {
        pthread_attr_getstacksize(&defaults, &bytes);
        pthread_attr_destroy(&defaults);
        HRT_STORE(&default_stack_bytes, bytes, HRT_RELAXED);
    }
    return bytes;
}

int pthread_setattr_default_np(const pthread_attr_t *attr) {
    int error = __pthread_setattr_default_np(attr);
    HRT_STORE(&default_stack_bytes, 0, HRT_RELAXED);
    return error;
}

static bool wants_cpus(const pthread_attr_t *attr) {
    cpu_set_t cpus, all;
    memset(&all, 0xff, sizeof all);
    return attr != NULL &&
           (pthread_attr_getaffinity_np(attr, sizeof cpus, &cpus) != 0 || !CPU_EQUAL(&cpus, &all));
}

// Whether a slot can do what the attributes ask for; then its stack size and state.
static bool fits_slot(const pthread_attr_t *attr, struct hrt_thread_attr *slot, int *detached) {
    hrt_thread_attr_init(slot);
    *detached = PTHREAD_CREATE_JOINABLE;
    uint32_t on = HRT_LOAD(&hrt_local.pthread.cpus, HRT_RELAXED);
    if (on == HRT_PTHREAD_CPUS_OTHER || hrt_pthread_inherits()) {
        return false;
    }
    slot->cpu = (int32_t)on - 1; // 0: HRT_CPU_ANY
    if (attr == NULL) {
        slot->stack_bytes = default_stack();
        return slot->stack_bytes != 0;
    }
    int inherits;
    size_t guard, bytes;
    void *stack = NULL;
    sigset_t mask;
    pthread_attr_getdetachstate(attr, detached);
    pthread_attr_getinheritsched(attr, &inherits);
    pthread_attr_getguardsize(attr, &guard);
    pthread_attr_getstacksize(attr, &bytes);
    slot->stack_bytes = bytes;
    // libc gives the address of a stack that was never set as minus its size.
    bool own_stack = pthread_attr_getstack(attr, &stack, &bytes) == 0 && (uintptr_t)stack + bytes != 0;
    bool own_mask = pthread_attr_getsigmask_np(attr, &mask) != PTHREAD_ATTR_NO_SIGMASK_NP;
    return inherits == PTHREAD_INHERIT_SCHED && guard == (size_t)sysconf(_SC_PAGESIZE) && !own_stack &&
           !own_mask && !wants_cpus(attr);
}

// The table's thread_reserve(), with a slot made if there is none.
static struct hrt_reserved reserve(const struct hrt_thread_attr *attr) {
    struct hrt_slot_kind need;
    for (;;) {
        struct hrt_reserved reserved = hrt_calls->thread_reserve(attr, &need);
        if (HRT_LIKELY(reserved.thread) || reserved.stack != HRT_ENOSPC) {
            return reserved;
        }
        int status = hrt_slot_make(&need);
        if (status != HRT_OK) {
            return (struct hrt_reserved){.stack = (uintptr_t)status};
        }
    }
}

static int create_on_slot(pthread_t *thread, struct hrt_thread_attr *attr, int detached,
                          void *(*start)(void *), void *arg) {
    bool is_detached = detached == PTHREAD_CREATE_DETACHED;
    attr->flags = HRT_THREAD_PTHREAD | (is_detached ? HRT_THREAD_DETACHED : 0);
    struct hrt_reserved reserved = reserve(attr);
    if (!reserved.thread) {
        return hrt_pthread_error((int)reserved.stack);
    }
    struct hrt_local *local = hrt_slot_of(reserved.stack)->local;
    struct hrt_pthread *self = &local->pthread;
    *self = (struct hrt_pthread){
        .life = is_detached ? HRT_PTHREAD_DETACHED : HRT_PTHREAD_JOINABLE,
        .cpus = (uint32_t)(attr->cpu + 1),
        .is_slot = 1,
        .thread = reserved.thread,
        .start = start,
        .arg = arg,
    };
    *thread = hrt_pthread_name(local);
    hrt_pthread_begins();
    return hrt_pthread_error(hrt_calls->thread_start(reserved.thread, run, self));
}

// --- fresh threads

struct fresh {
    void *(*start)(void *);
    void *arg;
    uint32_t cpus;
};

static void *run_fresh(void *arg) {
    struct fresh fresh = *(struct fresh *)arg;
    free(arg);
    hrt_local.exit = pthread_exit;
    hrt_local.pthread.cpus = fresh.cpus;
    if (hrt_pthread_end_later() != 0) {
        hrt_pthread_ended(); // no key left: main will not wait for its destructors
    }
    return fresh.start(fresh.arg);
}

static int create_fresh(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg) {
    struct fresh *fresh = malloc(sizeof *fresh);
    if (fresh == NULL) {
        return EAGAIN;
    }
    *fresh = (struct fresh){start, arg, wants_cpus(attr) ? HRT_PTHREAD_CPUS_OTHER : hrt_local.pthread.cpus};
    hrt_pthread_begins();
    int error = __pthread_create_2_1(thread, attr, run_fresh, fresh);
    if (error != 0) {
        hrt_pthread_ended();
        free(fresh);
    }
    return error;
}

// Slots wait with all signals blocked: those sent to the process are for the program's threads.
int hrt_libc_thread_create(void *thread, const void *attr, void *(*start)(void *), void *arg) {
    sigset_t before;
    block_signals(&before);
    int error = __pthread_create_2_1(thread, attr, start, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg) {
    struct hrt_thread_attr slot;
    int detached;
    return fits_slot(attr, &slot, &detached) ? create_on_slot(thread, &slot, detached, start, arg)
                                             : create_fresh(thread, attr, start, arg);
}

void pthread_exit(void *result) {
    struct hrt_pthread *self = &hrt_local.pthread;
    bool is_main = !self->is_slot && self->life != HRT_PTHREAD_NONE;
    if (is_main) {
        hrt_pthread_end_main_later(result);
    }
    // A fresh thread, or one of hadal/hrt.h's own on a slot.
    if (!self->is_slot || hrt_local.exit == NULL) {
        __pthread_exit(result);
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    self->result = result;
    self->ends = 1;
    // Unwinds to run() as libc does, but without telling libc that the thread ends.
    __pthread_unwind_buf_t here;
    __pthread_register_cancel(&here);
    __pthread_unwind_next(&here);
}
