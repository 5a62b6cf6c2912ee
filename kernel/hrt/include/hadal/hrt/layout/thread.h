/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Generated from abi/hrt/src/thread.rs, which is the place for changes. */
/* clang-format off */

#ifndef HADAL_HRT_LAYOUT_THREAD_H
#define HADAL_HRT_LAYOUT_THREAD_H

#include "../base.h"

// Smallest stack of a bare thread, bytes.
#define HRT_STACK_MIN (16u << 10)

// Bytes; sizes are rounded up to a power of two.
#define HRT_STACK_DEFAULT (256u << 10)

// Number of priorities; 0 is the least urgent.
#define HRT_PRIORITIES 32

// The priority of a thread that asks for none.
#define HRT_PRIORITY_DEFAULT 16

// Longest name with its NUL; longer ones are cut.
#define HRT_NAME_BYTES 32

// Keys of thread-local data.
#define HRT_KEYS_MAX 128

// Attribute flag: nobody joins the thread; its result is dropped.
#define HRT_THREAD_DETACHED 1u

// Attribute flag: the thread may not use libc or __thread: no TLS block is prepared.
#define HRT_THREAD_BARE 2u

// Attribute flag: an idle CPU may take the thread (work stealing is opt-in).
#define HRT_THREAD_STEALABLE 4u

// Who runs when. Real-time threads precede all others of their CPU.
enum hrt_policy {
    // By priority; equals take turns, 4 ms each.
    HRT_POLICY_ROUND_ROBIN = 0,
    // By priority; never preempted by its equals.
    HRT_POLICY_RUN_TO_COMPLETION = 1,
    // work_ns in each period_ns, from start_ns on.
    HRT_POLICY_EDF_PERIODIC = 2,
    // work_ns once, by deadline_ns; then as HRT_POLICY_ROUND_ROBIN.
    HRT_POLICY_EDF_SPORADIC = 3,
    // When no admitted thread wants the CPU, earliest deadline_ns first; never refused.
    HRT_POLICY_EDF_APERIODIC = 4,
};

// What a thread is doing.
enum hrt_thread_state {
    // It has a CPU.
    HRT_THREAD_RUNNING = 1,
    // It waits for a CPU.
    HRT_THREAD_READY = 2,
    // It waits for something else.
    HRT_THREAD_WAITING = 3,
    // It has ended, and nobody has joined it.
    HRT_THREAD_DONE = 4,
};

// Attributes; hrt_thread_attr_init() first, then change what matters.
struct hrt_thread_attr {
    // sizeof(struct hrt_thread_attr).
    uint32_t size;
    // HRT_THREAD_*.
    uint32_t flags;
    // Bound to this CPU, or HRT_CPU_ANY.
    int32_t cpu;
    // Bound to the CPUs of this zone, or HRT_ZONE_ANY.
    int32_t zone;
    // enum hrt_policy.
    uint32_t policy;
    // Less than HRT_PRIORITIES.
    int32_t priority;
    // Size of the stack.
    uint64_t stack_bytes;
    // HRT_POLICY_EDF_PERIODIC.
    uint64_t period_ns;
    // CPU time per period, or in all: what admission counts.
    uint64_t work_ns;
    // Sporadic and aperiodic: relative to start_ns.
    uint64_t deadline_ns;
    // Absolute start of the first period; 0: now.
    uint64_t start_ns;
    // Name, or NULL.
    const char *name;
};

// What hrt_thread_info() tells about a thread.
struct hrt_thread_info {
    // The thread.
    hrt_thread_t thread;
    // Who created it; 0: not made through this interface.
    hrt_thread_t creator;
    // enum hrt_thread_state, as of the call.
    uint32_t state;
    // Where it runs, or ran last.
    int32_t cpu;
    // The CPU that it is bound to, or HRT_CPU_ANY.
    int32_t bound_cpu;
    // enum hrt_policy.
    uint32_t policy;
    // Its priority.
    int32_t priority;
    // HRT_THREAD_*.
    uint32_t flags;
    // CPU time.
    uint64_t run_ns;
    // How often it got a CPU.
    uint64_t switches;
    // Deadlines missed so far.
    uint64_t deadlines_missed;
    // Lowest address of the stack; 0: unknown (a stack that pthread_create made).
    uintptr_t stack_bottom;
    // End of the stack.
    uintptr_t stack_top;
    // Its name, padded with NUL.
    char name[HRT_NAME_BYTES];
};

// Groups: threads that run together. After hrt_group_admit() every member, each bound to a CPU of its own,
// runs in the same periods: a member's start in a period differs from any other's by at most `skew_ns`.
struct hrt_group_attr {
    // sizeof(struct hrt_group_attr).
    uint32_t size;
    // How many will join.
    uint32_t members;
    // What the program can bear; 0: as small as the machine allows.
    uint64_t skew_ns;
    // Name, or NULL.
    const char *name;
};

#endif  /* HADAL_HRT_LAYOUT_THREAD_H */
