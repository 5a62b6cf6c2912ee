// SPDX-License-Identifier: Apache-2.0 OR MIT
// The extensions in clang's omp.h about stacks, waiting and memory.
#include <cstdlib>
#include <cstring>

#include "core/team.h"
#include "environment.h"
#include "routine.h"

using namespace hadal::omp;

namespace {

// What kmp_get_library returns.
constexpr int LIBRARY_SERIAL = 1, LIBRARY_TURNAROUND = 2, LIBRARY_THROUGHPUT = 3;
constexpr uint64_t NS_PER_MS = 1000000;

} // namespace

OMP_EXPORT size_t kmp_get_stacksize_s() {
    self();
    return settings.stack_bytes != 0 ? settings.stack_bytes : 8 << 20;
}
OMP_EXPORT int kmp_get_stacksize() { return to_int(static_cast<int64_t>(kmp_get_stacksize_s())); }
// For threads that are yet to be made.
OMP_EXPORT void kmp_set_stacksize_s(size_t bytes) {
    self();
    constexpr size_t least = 64 << 10;
    settings.stack_bytes = bytes > least ? bytes : least;
}
OMP_EXPORT void kmp_set_stacksize(int bytes) {
    kmp_set_stacksize_s(bytes > 0 ? static_cast<size_t>(bytes) : 0);
}

OMP_EXPORT int kmp_get_blocktime() {
    self();
    switch (settings.wait_policy) {
    case WaitPolicy::Active:
        return INT_MAX;
    case WaitPolicy::Passive:
        return 0;
    case WaitPolicy::Hybrid:
        break;
    }
    return to_int(static_cast<int64_t>(settings.blocktime_ns / NS_PER_MS));
}
// For teams that are yet to be formed.
OMP_EXPORT void kmp_set_blocktime(int time_ms) {
    self();
    settings.blocktime_ns = time_ms > 0 ? static_cast<uint64_t>(time_ms) * NS_PER_MS : 0;
    settings.wait_policy = time_ms == INT_MAX ? WaitPolicy::Active
                           : time_ms <= 0     ? WaitPolicy::Passive
                                              : WaitPolicy::Hybrid;
}

OMP_EXPORT int kmp_get_library() {
    if (self().task->icvs->thread_limit == 1) {
        return LIBRARY_SERIAL;
    }
    return settings.wait_policy == WaitPolicy::Active ? LIBRARY_TURNAROUND : LIBRARY_THROUGHPUT;
}
OMP_EXPORT void kmp_set_library(int library) {
    Icvs &icvs = icvs_to_change(*self().task);
    switch (library) {
    case LIBRARY_SERIAL:
        icvs.threads = 1;
        icvs.thread_limit = 1;
        break;
    case LIBRARY_TURNAROUND:
        settings.wait_policy = WaitPolicy::Active;
        break;
    case LIBRARY_THROUGHPUT:
        settings.wait_policy = WaitPolicy::Hybrid;
        break;
    default:
        warn("kmp_set_library: there is no kind %d, the call has no effect", library);
    }
}
OMP_EXPORT void kmp_set_library_serial() { kmp_set_library(LIBRARY_SERIAL); }
OMP_EXPORT void kmp_set_library_turnaround() { kmp_set_library(LIBRARY_TURNAROUND); }
OMP_EXPORT void kmp_set_library_throughput() { kmp_set_library(LIBRARY_THROUGHPUT); }

// The environment has been read, but what offloading is to do matters only when it is done.
OMP_EXPORT void kmp_set_defaults(const char *text) {
    static constexpr char OFFLOAD[] = "OMP_TARGET_OFFLOAD=";
    self();
    if (strncmp(text, OFFLOAD, sizeof OFFLOAD - 1) == 0 && strchr(text, '|') == nullptr) {
        set_offload(text + sizeof OFFLOAD - 1);
        return;
    }
    remark("kmp_set_defaults(\"%.100s\") has no effect: the environment has been read", text);
}
// The number of descriptors is fixed; programs cannot tell.
OMP_EXPORT void kmp_set_disp_num_buffers(int) {}

OMP_EXPORT void *kmp_malloc(size_t bytes) { return malloc(bytes); }
OMP_EXPORT void *kmp_calloc(size_t count, size_t bytes) { return calloc(count, bytes); }
OMP_EXPORT void *kmp_realloc(void *memory, size_t bytes) { return realloc(memory, bytes); }
OMP_EXPORT void kmp_free(void *memory) { free(memory); }
OMP_EXPORT void *kmp_aligned_malloc(size_t bytes, size_t align) {
    void *memory = nullptr;
    size_t least = align > sizeof(void *) ? align : sizeof(void *);
    return posix_memalign(&memory, least, bytes) == 0 ? memory : nullptr;
}
