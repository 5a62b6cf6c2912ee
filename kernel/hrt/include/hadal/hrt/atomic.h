/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The atomic operations of libhrt and of the inline paths in hrt/sync.h: thin names for the compiler's
 * builtins, in one place so that the model checker (runtimes/hrt/model) can put its own behind the very same
 * source by naming a header in HRT_ATOMIC_HEADER.
 */
#ifndef HADAL_HRT_ATOMIC_H
#define HADAL_HRT_ATOMIC_H

#ifdef HRT_ATOMIC_HEADER
#include HRT_ATOMIC_HEADER
#else

#define HRT_RELAXED __ATOMIC_RELAXED
#define HRT_ACQUIRE __ATOMIC_ACQUIRE
#define HRT_RELEASE __ATOMIC_RELEASE
#define HRT_ACQ_REL __ATOMIC_ACQ_REL
#define HRT_SEQ_CST __ATOMIC_SEQ_CST

#define HRT_LOAD(object, order) __atomic_load_n((object), (order))
#define HRT_STORE(object, value, order) __atomic_store_n((object), (value), (order))
#define HRT_EXCHANGE(object, value, order) __atomic_exchange_n((object), (value), (order))
#define HRT_FETCH_ADD(object, value, order) __atomic_fetch_add((object), (value), (order))
#define HRT_FETCH_SUB(object, value, order) __atomic_fetch_sub((object), (value), (order))
/* Strong compare-and-swap; `*expected` gets the value found when it fails (which is then relaxed). */
#define HRT_CAS(object, expected, desired, order)                                                            \
    __atomic_compare_exchange_n((object), (expected), (desired), 0, (order), __ATOMIC_RELAXED)
#define HRT_FENCE(order) __atomic_thread_fence(order)
/* The same as HRT_FENCE(HRT_SEQ_CST) right behind an exchange, addition, subtraction or compare-and-swap that
 * has succeeded: on x86 these are full fences, and it costs nothing. */
#define HRT_FENCE_AFTER_UPDATE() __asm__ volatile("" ::: "memory")
/* How often a waiter looks again before it sleeps, where that can help: some microseconds. */
#define HRT_SPINS 200u
/* Places for tasks in a CPU's deque, and in its inbox (runtimes/hrt/task_queue.h): powers of two. */
#define HRT_TASKS_OWN 1024u
#define HRT_TASKS_SENT 256u
/* Tells the processor that the caller spins. */
#define HRT_PAUSE() __builtin_ia32_pause()

#endif
#endif
