/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Generated from abi/hrt/src/calls.rs, which is the place for changes. */
/* clang-format off */

#ifndef HADAL_HRT_LAYOUT_CALLS_H
#define HADAL_HRT_LAYOUT_CALLS_H

#include "../base.h"
#include "irq.h"
#include "module.h"
#include "thread.h"
#include "topology.h"

// Version of the table.
#define HRT_CALLS_VERSION 1u

// Key of the table's address in the auxiliary vector of a program under Hadal: "HRT" and a 0, far above
// Linux's keys.
#define HRT_AT_HADAL_HRT 0x48525400ull

// Attribute flag, on the kernel only, for a run-time whose threads are not children of the program's: a
// joinable thread is not one of those that thread_join_all joins, and the thread begins as a new one of
// libc's does, with its creator's signal mask, name and memory policy.
#define HRT_THREAD_PTHREAD 256u

// Where a program runs.
enum hrt_place {
    // On Hadal's kernel.
    HRT_PLACE_KERNEL = 1,
    // At user level on Linux.
    HRT_PLACE_LINUX = 2,
};

// What a slot (a thread that waits for work, stack and TLS ready) is made for; pools are per CPU, kind and
// size class.
struct hrt_slot_kind {
    // CPU whose pool it joins.
    int32_t cpu;
    // 1: no libc thread behind it (HRT_THREAD_BARE).
    uint32_t bare;
    // Size class: a power of two, at least HRT_STACK_MIN.
    uint64_t stack_bytes;
};

// One piece of work for a slot. Small enough to be returned in registers, as the next.
struct hrt_work {
    // NULL if there is none.
    hrt_thread_fn fn;
    // Its argument, or a status that says why there is none.
    void *arg;
};

// A thread, and the stack that it got.
struct hrt_reserved {
    // 0 if there is none.
    hrt_thread_t thread;
    // The stack pointer of the slot's wait: what is below is free. Or a status that says why there is none.
    uintptr_t stack;
};

// The call table: the one thing that differs between the places a program can run. The kernel's is found
// through the auxiliary vector (HRT_AT_HADAL_HRT) without a system call; libhrt-linux brings one made of
// pthreads and futexes. libhrt binds `hrt_calls` before the first constructor of the program runs.
//
// Programs use the functions of the other headers, which are inline wrappers of these or build on them; the
// comments here are for those who implement a table. Entries are only ever added at the end; `size` says
// which are there.
struct hrt_calls {
    // HRT_CALLS_VERSION.
    uint32_t version;
    // Bytes of this structure.
    uint32_t size;
    // enum hrt_place.
    uint32_t place;
    // Offset at %gs of the number of the CPU that runs the caller; 0: it must be asked by cpu_self.
    uint32_t cpu_at_gs;
    // --- threads: hrt/thread.h ---
    //
    // Takes a slot that fits `attr` (NULL: defaults), gives it `fn` and `arg` and makes it runnable; its name
    // goes to `*out`. HRT_ENOSPC: the pool is empty and `*need` says what slot to add before trying again.
    int (*thread_create)(const struct hrt_thread_attr *attr,
                         hrt_thread_fn fn,
                         void *arg,
                         hrt_thread_t *out,
                         struct hrt_slot_kind *need);
    // The first half of thread_create: the slot and its stack are the caller's. thread_start is the second
    // half.
    struct hrt_reserved (*thread_reserve)(const struct hrt_thread_attr *attr, struct hrt_slot_kind *need);
    int (*thread_start)(hrt_thread_t thread, hrt_thread_fn fn, void *arg);
    // thread_create for fork: what the thread starts with is put beside its stack afterwards, when it may run
    // already. So `fn`, whose argument is `stack`, waits for that.
    struct hrt_reserved (*thread_fork)(const struct hrt_thread_attr *attr,
                                       hrt_thread_fn fn,
                                       struct hrt_slot_kind *need);
    // The calling thread is (on the first call: becomes) a slot of `kind`. Announces the result of the work
    // before (ignored on the first call), waits in the pool, returns the next work. HRT_EBUSY: the thread has
    // values of keys whose destructors come first, and nothing was announced: key_take them, then call again.
    // Any other status: the thread must end.
    struct hrt_work (*slot_wait)(const struct hrt_slot_kind *kind, void *result);
    // The calling slot will never wait again: its libc thread is ending (cancelled, pthread_exit). Announces
    // `result`.
    void (*slot_leave)(void *result);
    // Adds a bare slot: a kernel thread that runs `entry(kind)` on a stack of its own, which must call
    // slot_wait.
    int (*slot_add_bare)(const struct hrt_slot_kind *kind, void (*entry)(const struct hrt_slot_kind *kind));
    int (*thread_join)(hrt_thread_t thread, void **result, uint64_t deadline_ns);
    // Joins every joinable thread that the caller created; results are dropped.
    int (*thread_join_all)(uint64_t deadline_ns);
    int (*thread_detach)(hrt_thread_t thread);
    hrt_thread_t (*thread_self)(void);
    // Vector registers are the caller's loss, as the C ABI says.
    void (*thread_yield)(void);
    // Every register survives.
    void (*thread_yield_full)(void);
    int (*thread_sleep_until)(uint64_t deadline_ns);
    // HRT_CPU_ANY frees it again.
    int (*thread_bind)(hrt_thread_t thread, int32_t cpu);
    int (*thread_migrate)(hrt_thread_t thread, int32_t cpu);
    // Policy, priority, real time.
    int (*thread_set_schedule)(hrt_thread_t thread, const struct hrt_thread_attr *attr);
    int (*thread_wait_period)(uint64_t *missed);
    int (*thread_set_name)(hrt_thread_t thread, const char *name);
    int (*thread_info)(hrt_thread_t thread, struct hrt_thread_info *info, uint64_t info_bytes);
    // Returns how many there are.
    uint64_t (*thread_list)(hrt_thread_t *threads, uint64_t capacity);
    int (*key_create)(uint32_t *key, void (*destructor)(void *value));
    int (*key_delete)(uint32_t key);
    void *(*key_get)(uint32_t key);
    int (*key_set)(uint32_t key, void *value);
    // Next value of the calling thread that still needs its destructor; false when there is none.
    bool (*key_take)(void (**destructor)(void *value), void **value);
    // Why the calling thread's last request got HRT_EADMIT.
    const char *(*admission_text)(void);
    int (*group_create)(const struct hrt_group_attr *attr, uint32_t *group);
    int (*group_join)(uint32_t group);
    int (*group_leave)(uint32_t group);
    int (*group_admit)(uint32_t group, const struct hrt_thread_attr *schedule);
    int (*group_destroy)(uint32_t group);
    // --- waiting on words: hrt/sync.h ---
    //
    // Sleeps if `*word == expected`, until a wake, the deadline or a signal. Spurious returns of 0 are
    // allowed.
    int (*wait)(const uint32_t *word, uint32_t expected, uint64_t deadline_ns, uint32_t flags);
    // Wakes up to `count` threads that sleep on `word`, the most urgent first, of equals the oldest; returns
    // how many. `flags`: HRT_WAKE_*. Handler-safe.
    uint32_t (*wake)(const uint32_t *word, uint32_t count, uint32_t flags);
    // Wakes up to `count` and moves the others to `target`'s queue, if `*word == expected` (else HRT_EAGAIN).
    int (*requeue)(const uint32_t *word, uint32_t expected, uint32_t count, const uint32_t *target);
    // --- events: hrt/event.h ---
    int (*event_register)(hrt_handler_fn action, void *arg, uint32_t flags, uint32_t *event);
    int (*event_unregister)(uint32_t event);
    int (*event_notify)(uint32_t event, int32_t cpu);
    int (*event_notify_set)(uint32_t event, const uint64_t *cpus, uint32_t words);
    int (*event_notify_all)(uint32_t event, uint32_t flags);
    int (*event_wait)(uint32_t event, uint64_t *seen, uint64_t deadline_ns);
    int (*memory_wait)(const volatile uint64_t *word, uint64_t old, uint64_t deadline_ns);
    // --- interrupts: hrt/irq.h ---
    int (*ipi_register)(hrt_handler_fn handler, void *arg, uint32_t flags, uint32_t *vector);
    int (*ipi_unregister)(uint32_t vector);
    int (*ipi_send)(uint32_t vector, int32_t cpu);
    int (*irq_register)(uint32_t line, hrt_handler_fn handler, void *arg, uint32_t flags);
    int (*irq_unregister)(uint32_t line);
    int (*irq_steer)(uint32_t line, int32_t cpu);
    int (*irq_mask)(uint32_t line, bool masked);
    int (*irq_info)(uint32_t index, struct hrt_irq_info *info, uint64_t info_bytes);
    uint64_t (*irq_disable)(void);
    void (*irq_restore)(uint64_t state);
    // --- clocks and timers: hrt/time.h ---
    uint64_t (*now_ns)(void);
    int (*timer_start)(int32_t cpu,
                       uint64_t deadline_ns,
                       hrt_handler_fn callback,
                       void *arg,
                       uint32_t flags,
                       uint64_t *timer);
    int (*timer_cancel)(uint64_t timer);
    int (*hpet_read)(uint64_t *count, uint64_t *hz);
    int (*pit_read)(uint16_t *count, uint64_t *hz);
    // --- topology: hrt/topology.h ---
    uint32_t (*cpu_count)(void);
    uint32_t (*cpu_self)(void);
    int (*cpu_info)(uint32_t cpu, struct hrt_cpu_info *info, uint64_t info_bytes);
    int (*cache_info)(uint32_t cpu, uint32_t index, struct hrt_cache_info *info, uint64_t info_bytes);
    uint32_t (*zone_count)(void);
    int (*zone_info)(uint32_t zone, struct hrt_zone_info *info, uint64_t info_bytes);
    // 10 is local; 0: no such zone.
    uint32_t (*zone_distance)(uint32_t from, uint32_t to);
    // --- memory: hrt/memory.h ---
    void *(*alloc)(uint64_t bytes, uint64_t align, int32_t zone, uint32_t flags);
    int (*free)(void *memory);
    uint64_t (*usable_bytes)(const void *memory);
    int32_t (*zone_of)(const void *memory);
    // --- what the boot brought: hrt/module.h ---
    int (*module)(uint32_t index, struct hrt_module *module, uint64_t module_bytes);
    const char *(*command_line)(void);
    // --- topology: hrt/topology.h ---
    //
    // How many CPUs can run at the same time.
    uint32_t (*core_count)(void);
    // --- marks in traces: hrt/trace.h ---
    //
    // Whether a trace is recorded.
    const bool *tracing;
    // 16 bytes of text, padded with NUL.
    void (*trace_mark)(uint64_t first, uint64_t second);
};

#endif  /* HADAL_HRT_LAYOUT_CALLS_H */
