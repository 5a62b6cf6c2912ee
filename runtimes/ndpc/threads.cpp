// SPDX-License-Identifier: Apache-2.0 OR MIT
// The interface of ndpc.h: threads with parents, results and critical sections.
#include "ndpc.h"

#include <cstdlib>
#include <new>

#include "lock.h"
#include "ndpc/worker.h"

namespace {

using ndpc::LockGuard;

// A result that a thread has set, until it is joined by name or its parent joins all children.
struct SetResult {
    SetResult *next;
    ndpc_thread_t thread, parent;
    void *result;
};

std::atomic<std::uint32_t> results_lock;
SetResult *results;

// Takes a thread's result out of the list; false: it has set none.
bool take_result(ndpc_thread_t thread, void *&result) {
    LockGuard guard(results_lock);
    for (SetResult **at = &results; *at; at = &(*at)->next) {
        if ((*at)->thread == thread) {
            SetResult *found = *at;
            *at = found->next;
            result = found->result;
            hrt_free(found);
            return true;
        }
    }
    return false;
}

// Nobody will ask for the results of children that are all joined at once.
void drop_results(ndpc_thread_t parent) {
    LockGuard guard(results_lock);
    for (SetResult **at = &results; *at;) {
        if ((*at)->parent == parent) {
            SetResult *found = *at;
            *at = found->next;
            hrt_free(found);
        } else {
            at = &(*at)->next;
        }
    }
}

hrt_barrier_t barrier;
hrt_once_t barrier_once = HRT_ONCE_INIT;

void make_barrier(void *) { hrt_barrier_init(&barrier, hrt_cpu_count(), HRT_BARRIER_CENTRAL, nullptr); }

hrt_mutex_t global_section = HRT_MUTEX_INIT_RECURSIVE;

constexpr std::uint32_t most_cpus = 4096;
hrt_mutex_t local_sections[most_cpus];
hrt_once_t local_once = HRT_ONCE_INIT;
// The CPU whose section the thread is in, and how often it has entered: it may be on another CPU when it
// leaves.
thread_local std::uint32_t local_cpu;
thread_local std::uint32_t local_depth;

void make_local_sections(void *) {
    for (hrt_mutex_t &section : local_sections) {
        hrt_mutex_init(&section, HRT_MUTEX_NORMAL);
    }
}

} // namespace

extern "C" {

int ndpc_init(uint32_t workers, bool one_thread_per_element) {
    return ndpc::start(workers, one_thread_per_element);
}

void ndpc_shutdown() { ndpc::stop(); }

int ndpc_thread_create(ndpc_thread_t *thread, ndpc_thread_fn fn, void *input, int32_t cpu,
                       uint64_t stack_bytes) {
    struct hrt_thread_attr attr;
    hrt_thread_attr_init(&attr);
    attr.cpu = cpu;
    if (stack_bytes != 0) {
        attr.stack_bytes = stack_bytes;
    }
    return hrt_thread_create(thread, &attr, fn, input);
}

const struct hrt_thread_attr *ndpc_fork_attr() { return nullptr; }

ndpc_thread_t ndpc_forked(int status, ndpc_thread_t child) {
    if (status == HRT_FORK_CHILD) {
        return hrt_thread_self();
    }
    return status == HRT_OK ? child : 0;
}

ndpc_thread_t ndpc_thread_self() { return hrt_thread_self(); }

ndpc_thread_t ndpc_thread_parent() {
    struct hrt_thread_info info;
    return hrt_thread_info(hrt_thread_self(), &info) == HRT_OK ? info.creator : 0;
}

void ndpc_thread_yield() { hrt_thread_yield(); }

int ndpc_thread_set_result(void *result) {
    ndpc_thread_t self = hrt_thread_self();
    LockGuard guard(results_lock);
    for (SetResult *at = results; at; at = at->next) {
        if (at->thread == self) {
            at->result = result;
            return HRT_OK;
        }
    }
    void *memory = hrt_alloc(sizeof(SetResult), HRT_ZONE_ANY, 0);
    if (!memory) {
        return HRT_ENOMEM;
    }
    results = new (memory) SetResult{results, self, ndpc_thread_parent(), result};
    return HRT_OK;
}

int ndpc_thread_join(ndpc_thread_t thread, void **result) {
    void *returned = nullptr;
    int status = hrt_thread_join(thread, &returned);
    if (status == HRT_OK) {
        take_result(thread, returned);
        if (result) {
            *result = returned;
        }
    }
    return status;
}

int ndpc_thread_join_children() {
    int status = hrt_thread_join_all();
    drop_results(hrt_thread_self());
    return status;
}

int ndpc_barrier() {
    hrt_once_call(&barrier_once, make_barrier, nullptr);
    int status = hrt_barrier_wait(&barrier);
    return status == HRT_BARRIER_SERIAL ? HRT_OK : status;
}

int ndpc_enter_global() { return hrt_mutex_lock(&global_section); }
int ndpc_leave_global() { return hrt_mutex_unlock(&global_section); }

int ndpc_enter_local() {
    if (local_depth == 0) {
        hrt_once_call(&local_once, make_local_sections, nullptr);
        std::uint32_t cpu = hrt_cpu_self() % most_cpus;
        if (int status = hrt_mutex_lock(&local_sections[cpu]); status != HRT_OK) {
            return status;
        }
        local_cpu = cpu;
    }
    local_depth++;
    return HRT_OK;
}

int ndpc_leave_local() {
    if (local_depth == 0) {
        return HRT_EPERM;
    }
    local_depth--;
    return local_depth == 0 ? hrt_mutex_unlock(&local_sections[local_cpu]) : HRT_OK;
}

void ndpc_free(void *items) { std::free(items); }

const char *ndpc_failure_text() { return ndpc::failure_text(); }
}
