// SPDX-License-Identifier: Apache-2.0 OR MIT
// Threads are made when a team needs more than are idle. They never end: an idle one sleeps at its door until
// a team takes it.
#include "pool.h"

#include <new>
#include <pthread.h>
#include <sys/resource.h>

#include "barrier.h"
#include "memory.h"

namespace hadal::omp {

void *serve(void *argument); // fork.cpp

namespace {

hrt_spin_t pool_lock = HRT_SPIN_INIT;
Thread *idle_threads = nullptr;
Thread *unused_descriptors = nullptr;
uint32_t descriptor_count = 0;
constexpr uint64_t DEFAULT_STACK_BYTES = 8 << 20;

Thread *pop(Thread *&list) {
    hrt_spin_lock(&pool_lock);
    Thread *thread = list;
    if (thread != nullptr) {
        list = thread->next;
    }
    hrt_spin_unlock(&pool_lock);
    return thread;
}

void push(Thread *&list, Thread &thread) {
    hrt_spin_lock(&pool_lock);
    thread.next = list;
    list = &thread;
    hrt_spin_unlock(&pool_lock);
}

// As much as programs expect: what the initial thread has.
uint64_t stack_bytes() {
    if (settings.stack_bytes != 0) {
        return settings.stack_bytes;
    }
    struct rlimit limit;
    bool is_known = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return is_known ? limit.rlim_cur : DEFAULT_STACK_BYTES;
}

bool start(Thread &thread) {
    struct hrt_thread_attr attr;
    hrt_thread_attr_init(&attr);
    attr.flags = HRT_THREAD_DETACHED;
    attr.stack_bytes = stack_bytes();
    attr.name = "openmp";
    return hrt_thread_create(&thread.name, &attr, serve, &thread) == HRT_OK;
}

} // namespace

Thread *thread_new() {
    if (Thread *thread = pop(unused_descriptors)) {
        return thread;
    }
    uint32_t gtid = HRT_FETCH_ADD(&descriptor_count, 1, HRT_RELAXED);
    if (gtid >= THREADS_MAX) {
        HRT_FETCH_SUB(&descriptor_count, 1, HRT_RELAXED);
        return nullptr;
    }
    Thread *thread = ::new (permanent_memory(sizeof(Thread))) Thread;
    thread->gtid = gtid;
    return thread;
}

void thread_give_back(Thread &thread) { push(unused_descriptors, thread); }

void pool_forget() {
    pool_lock = HRT_SPIN_INIT;
    idle_threads = nullptr;
}

bool thread_assign(Member &member) {
    if (Thread *thread = pop(idle_threads)) {
        member.thread = thread;
        static_cast<void>(HRT_EXCHANGE(&thread->assigned, &member, HRT_SEQ_CST));
        HRT_FENCE_AFTER_UPDATE();
        open_door(*thread);
        return true;
    }
    Thread *thread = thread_new();
    if (thread == nullptr) {
        return false;
    }
    member.thread = thread;
    thread->assigned = &member;
    if (!start(*thread)) {
        thread->assigned = nullptr;
        member.thread = nullptr;
        thread_give_back(*thread);
        return false;
    }
    return true;
}

Member &thread_rest(Thread &thread) {
    for (;;) {
        if (Member *member = HRT_EXCHANGE(&thread.assigned, nullptr, HRT_ACQUIRE)) {
            thread.is_idle = false;
            return *member;
        }
        HRT_EXCHANGE(&thread.door, DOOR_CLOSED, HRT_SEQ_CST);
        HRT_FENCE_AFTER_UPDATE();
        if (HRT_LOAD(&thread.assigned, HRT_RELAXED) == nullptr) {
            if (!thread.is_idle) {
                thread.is_idle = true;
                push(idle_threads, thread);
            }
            hrt_wait(&thread.door, DOOR_CLOSED, HRT_FOREVER, 0);
        }
        HRT_STORE(&thread.door, DOOR_OPEN, HRT_RELAXED);
    }
}

} // namespace hadal::omp
