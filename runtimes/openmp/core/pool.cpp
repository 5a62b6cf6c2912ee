// SPDX-License-Identifier: Apache-2.0 OR MIT
// Threads are made when a team needs more than are idle. They never end: an idle one sleeps at its door until
// a team takes it.
#include "pool.h"

#include <new>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "barrier.h"
#include "form.h"
#include "memory.h"
#include "ompt/ompt.h"

namespace hadal::omp {

void *serve(void *argument); // fork.cpp

namespace {

hrt_spin_t pool_lock = HRT_SPIN_INIT;
Thread *idle_threads = nullptr;
Thread *unused_descriptors = nullptr;
uint32_t descriptor_count = 0;
// For tools: the run-time's threads that have begun and not ended.
uint32_t begun = 0;
uint32_t is_ending = 0;

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
    // Where CPUs share cores, a member that is woken had better run where one of its team runs than on its
    // own CPU, which the host would have to wake first.
    if (hrt_cpu_count() > hrt_core_count()) {
        attr.flags |= HRT_THREAD_STEALABLE;
    }
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
        if (ompt::is_on() && HRT_LOAD(&is_ending, HRT_ACQUIRE) != 0 && thread.tool.has_begun) {
            ompt::thread_end(thread);
            HRT_FETCH_SUB(&begun, 1, HRT_ACQ_REL);
        }
        HRT_EXCHANGE(&thread.door, DOOR_CLOSED, HRT_SEQ_CST);
        HRT_FENCE_AFTER_UPDATE();
        bool ends = HRT_LOAD(&is_ending, HRT_RELAXED) != 0 && thread.tool.has_begun;
        if (HRT_LOAD(&thread.assigned, HRT_RELAXED) == nullptr && !ends) {
            if (!thread.is_idle) {
                thread.is_idle = true;
                push(idle_threads, thread);
            }
            hrt_wait(&thread.door, DOOR_CLOSED, HRT_FOREVER, 0);
        }
        HRT_STORE(&thread.door, DOOR_OPEN, HRT_RELAXED);
    }
}

void ompt::worker_begin(Thread &thread) {
    if (is_on()) {
        HRT_FETCH_ADD(&begun, 1, HRT_RELAXED);
        thread_begin(thread, ThreadKind::Worker);
    }
}

void pool_end(Member *me) {
    constexpr uint32_t PATIENCE = 2000; // yields, with sleeps of 0.1 ms
    if (me != nullptr) {
        team_dismiss(*me);
    }
    HRT_EXCHANGE(&is_ending, 1, HRT_SEQ_CST);
    for (uint32_t tries = 0; tries < PATIENCE && HRT_LOAD(&begun, HRT_ACQUIRE) != 0; tries++) {
        hrt_spin_lock(&pool_lock);
        for (Thread *thread = idle_threads; thread != nullptr; thread = thread->next) {
            open_door(*thread);
        }
        hrt_spin_unlock(&pool_lock);
        usleep(100);
    }
}

} // namespace hadal::omp
