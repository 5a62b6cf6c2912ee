// SPDX-License-Identifier: Apache-2.0 OR MIT
// Slots: the threads behind hrt_thread_create(). Each runs one piece of work after the other, and waits in a
// pool of the kernel in between (slot_wait); so a new thread finds stack, TLS block and libc's state ready.
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "internal.h"

// In slot_switch.S.
_Noreturn void hrt_slot_end(struct hrt_slot *slot);
void hrt_slot_bare(const struct hrt_slot_kind *kind);
// For slot_switch.S.
_Noreturn void hrt_slot_begin(struct hrt_slot *slot, const struct hrt_slot_kind *kind);
_Noreturn void hrt_slot_next(struct hrt_slot *slot, void *result);

_Static_assert(sizeof(struct hrt_slot) <= 64, "slot_switch.S leaves 64 bytes for a slot");

// glibc's own, which run what a thread leaves behind when it ends. They are there in static programs; in
// dynamic ones only the first is. Without them thread_local objects live, and pthread keys keep their values,
// until the slot ends.
__attribute__((weak)) void __call_tls_dtors(void);
__attribute__((weak)) void __nptl_deallocate_tsd(void);
// There if the program has a use for it.
extern __typeof__(uselocale) uselocale __attribute__((weak));

// A key's destructors may set values again, as long as pthread keys allow.
#define KEY_ROUNDS_MAX 4
#define KEY_CALLS_MAX (KEY_ROUNDS_MAX * HRT_KEYS_MAX)

HRT_BARE __attribute__((noinline)) static void destroy_values(void (*destructor)(void *value), void *value) {
    unsigned calls = 0;
    do {
        destructor(value);
    } while (++calls < KEY_CALLS_MAX && hrt_calls->key_take(&destructor, &value));
}

HRT_BARE void hrt_keys_clean(void) {
    void (*destructor)(void *value);
    void *value;
    if (HRT_UNLIKELY(hrt_calls->key_take(&destructor, &value))) {
        destroy_values(destructor, value);
    }
}

// Ends what a thread's work leaves behind, but for values of keys.
HRT_BARE __attribute__((always_inline)) static inline void clean_libc(void) {
    if (hrt_local.fibers_end) {
        hrt_local.fibers_end();
    }
    if (__call_tls_dtors) {
        __call_tls_dtors();
    }
    if (__nptl_deallocate_tsd) {
        __nptl_deallocate_tsd();
    }
    if (uselocale) {
        uselocale(LC_GLOBAL_LOCALE);
    }
}

HRT_BARE static void clean(const struct hrt_slot *slot) {
    if (!slot->kind.bare) {
        clean_libc();
    }
}

// Takes the values of keys away, so that the slot can wait. Their destructors may use what clean() has
// cleaned; those that never stop setting values are not called again.
HRT_BARE __attribute__((noinline)) static void clean_keys(const struct hrt_slot *slot) {
    for (int round = 0; round < KEY_ROUNDS_MAX; round++) {
        hrt_keys_clean();
        clean(slot);
    }
    void (*destructor)(void *value);
    void *value;
    while (hrt_calls->key_take(&destructor, &value)) {
    }
}

// Announces a result and waits for work.
HRT_BARE static struct hrt_work next_work(const struct hrt_slot *slot, void *result) {
    struct hrt_work work = hrt_calls->slot_wait(&slot->kind, result);
    if (!work.fn && (uintptr_t)work.arg == HRT_EBUSY) {
        clean_keys(slot);
        work = hrt_calls->slot_wait(&slot->kind, result);
    }
    return work;
}

// What a new thread expects of its CPU and its libc: the control words that programs start with, no error.
HRT_BARE static void refresh(struct hrt_slot *slot) {
    static const uint32_t mxcsr = 0x1f80;
    static const uint16_t x87 = 0x37f;
    __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mxcsr), "m"(x87));
    if (slot->error) {
        *slot->error = 0;
        if (hrt_tls_must_reset) {
            hrt_tls_reset();
            slot->care = hrt_tls_may_grow ? HRT_SLOT_CHECKED : HRT_SLOT_PLAIN;
        }
    }
}

// Ends a slot that cannot be used again, since its thread has data of libraries that were loaded later.
HRT_BARE static _Noreturn void retire(struct hrt_slot *slot, void *result) {
    clean(slot);
    hrt_keys_clean();
    clean(slot);
    hrt_local.slot = NULL;
    hrt_calls->slot_leave(result);
    hrt_slot_end(slot);
}

HRT_BARE __attribute__((noinline)) static void clean_checked(struct hrt_slot *slot, void *result) {
    if (!hrt_tls_can_reset()) {
        retire(slot, result);
    }
    clean(slot);
}

// The loop. Its end is hrt_slot_end() or a hrt_slot_restart() out of `fn`.
HRT_BARE _Noreturn void hrt_slot_next(struct hrt_slot *slot, void *result) {
    for (;;) {
        if (HRT_LIKELY(slot->care == HRT_SLOT_PLAIN)) {
            clean_libc();
        } else if (HRT_UNLIKELY(slot->care == HRT_SLOT_CHECKED)) {
            clean_checked(slot, result);
        }
        struct hrt_work work = next_work(slot, result);
        if (!work.fn) {
            hrt_slot_end(slot);
        }
        refresh(slot);
        result = work.fn(work.arg);
    }
}

// Bare slots that have begun, for their makers to wait on: the kernel runs one some time after slot_add_bare.
static uint32_t bare_begun;

HRT_BARE _Noreturn void hrt_slot_begin(struct hrt_slot *slot, const struct hrt_slot_kind *kind) {
    slot->self = slot;
    slot->kind = *kind;
    slot->child = NULL;
    slot->local = kind->bare ? NULL : &hrt_local;
    slot->error = kind->bare ? NULL : &errno;
    slot->care = kind->bare ? HRT_SLOT_BARE : HRT_SLOT_PLAIN;
    if (kind->bare) {
        __atomic_fetch_add(&bare_begun, 1, __ATOMIC_RELEASE);
        hrt_calls->wake(&bare_begun, INT_MAX, HRT_WAKE_KICK);
    } else {
        hrt_local.slot = slot;
        if (hrt_tls_may_grow) {
            hrt_tls_find();
        }
    }
    hrt_slot_next(slot, NULL);
}

// The thread leaves for good, by pthread_exit() or pthread_cancel(): it cannot be used again.
static void leave(void *unused) {
    (void)unused;
    struct hrt_slot *slot = hrt_local.slot;
    hrt_local.slot = NULL;
    clean(slot);
    hrt_keys_clean();
    hrt_calls->slot_leave(hrt_local.leaves);
}

// What the maker of a slot gives it, on the maker's stack.
struct order {
    struct hrt_slot_kind kind;
    uint32_t taken;
};

void *hrt_slot_thread(const struct hrt_slot_kind *kind) {
    pthread_cleanup_push(leave, NULL);
    hrt_slot_run(kind);
    pthread_cleanup_pop(0);
    hrt_local.slot = NULL;
    return NULL;
}

static void *start(void *arg) {
    struct order *order = arg;
    struct hrt_slot_kind kind = order->kind;
    __atomic_store_n(&order->taken, 1, __ATOMIC_RELEASE);
    hrt_calls->wake(&order->taken, 1, HRT_WAKE_KICK);
    return hrt_slot_thread(&kind);
}

// Makes the slot's stack from here, so that its memory is of the zone of the CPU that this thread runs on.
static int make(struct order *order) {
    pthread_t thread;
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) != 0) {
        return HRT_ENOMEM;
    }
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    int status = pthread_attr_setstacksize(&attr, order->kind.stack_bytes + hrt_tls_stack_bytes());
    if (status == 0) {
        status = hrt_libc_thread_create(&thread, &attr, start, order);
    }
    pthread_attr_destroy(&attr);
    while (status == 0 && !__atomic_load_n(&order->taken, __ATOMIC_ACQUIRE)) {
        hrt_calls->wait(&order->taken, 0, HRT_FOREVER, HRT_WAIT_NO_INTR);
    }
    return status;
}

// The same on a CPU of the zone where the slot will live.
static int make_at(struct order *order) {
    cpu_set_t before, target;
    struct hrt_cpu_info here, there;
    bool move = hrt_zone_count() > 1 && hrt_cpu_info(hrt_cpu_self(), &here) == HRT_OK &&
                hrt_cpu_info((uint32_t)order->kind.cpu, &there) == HRT_OK && here.zone != there.zone &&
                sched_getaffinity(0, sizeof before, &before) == 0;
    if (!move) {
        return make(order);
    }
    CPU_ZERO(&target);
    CPU_SET((size_t)order->kind.cpu, &target);
    sched_setaffinity(0, sizeof target, &target);
    int status = make(order);
    sched_setaffinity(0, sizeof before, &before);
    return status;
}

// Whether the caller is a bare thread of the kernel's (those of libhrt-linux have a libc).
HRT_BARE static bool is_bare(struct hrt_thread_info *info) {
    return hrt_calls->place == HRT_PLACE_KERNEL && hrt_thread_info(hrt_thread_self(), info) == HRT_OK &&
           (info->flags & HRT_THREAD_BARE);
}

// Waits until the slot has begun, or another one has: without that the caller would find the pool empty again
// and add slots as long as its CPU is its own.
HRT_BARE static int make_bare(const struct hrt_slot_kind *kind) {
    uint32_t before = __atomic_load_n(&bare_begun, __ATOMIC_ACQUIRE);
    int status = hrt_calls->slot_add_bare(kind, hrt_slot_bare);
    while (status == HRT_OK && __atomic_load_n(&bare_begun, __ATOMIC_ACQUIRE) == before) {
        hrt_calls->wait(&bare_begun, before, HRT_FOREVER, HRT_WAIT_NO_INTR);
    }
    return status;
}

HRT_BARE int hrt_slot_make(const struct hrt_slot_kind *kind) {
    if (kind->bare) {
        return make_bare(kind);
    }
    struct hrt_thread_info info;
    if (is_bare(&info)) {
        return HRT_EPERM;
    }
    struct order order = {.kind = *kind};
    int saved = errno;
    int status = make_at(&order);
    errno = saved;
    return status;
}

// The slot of a bare thread: it cannot be asked for in thread-local data, but it is near the top of the
// stack.
HRT_BARE static struct hrt_slot *bare_slot(const struct hrt_thread_info *info) {
    uintptr_t at = info->stack_top & ~(uintptr_t)(HRT_SLOT_ALIGN - 1);
    struct hrt_slot *slot = NULL;
    while (!slot && at - info->stack_bottom > 2 * HRT_SLOT_ALIGN) {
        at -= HRT_SLOT_ALIGN;
        slot = hrt_slot_at(at - HRT_SLOT_ALIGN);
    }
    return slot;
}

HRT_BARE _Noreturn void hrt_thread_exit(void *result) {
    struct hrt_thread_info info;
    bool bare = is_bare(&info);
    if (!bare && hrt_local.exit) {
        hrt_local.exit(result);
    }
    struct hrt_slot *slot = bare ? bare_slot(&info) : hrt_local.slot;
    if (slot) {
        hrt_slot_restart(slot, result);
    }
    pthread_exit(result);
}
