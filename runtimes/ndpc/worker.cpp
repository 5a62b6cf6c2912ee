// SPDX-License-Identifier: Apache-2.0 OR MIT
// Workers: their threads, and threads of the program's that become workers.
#include "ndpc/worker.h"

#include <pthread.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "hadal/hrt.h"
#include "lock.h"
#include "steal.h"

namespace ndpc {

constinit thread_local Worker *this_worker __attribute__((tls_model("initial-exec"))) = nullptr;
Scheduler scheduler;

namespace {

// Stacks of the workers' threads; less where there is no memory for that.
constexpr std::uint64_t most_stack_bytes = 4u << 20;
constexpr std::uint64_t least_stack_bytes = 128u << 10;
// What run-time and C library need below the deepest function of the program.
constexpr std::uintptr_t reserve_bytes = 32u << 10;

// Pieces for each worker before the serial clone is entered: enough that trees which lean somewhat are
// shared out.
constexpr std::uint32_t pieces_each = 8;

std::atomic<Worker *> workers[most_workers];
std::atomic<std::uint32_t> workers_made;
std::atomic<bool> stopping;

// Of what follows.
std::atomic<std::uint32_t> lock;
Worker *free_workers;
bool started;
// Threads that have not ended. They are nobody's to join: a program's "join all" means its own.
std::atomic<std::uint32_t> running_threads;
std::uint32_t leave_key;
bool has_leave_key;

void find_stack(Worker &mine) {
    struct hrt_thread_info info;
    std::uintptr_t top = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    std::uintptr_t bottom = top - least_stack_bytes;
    if (hrt_thread_info(hrt_thread_self(), &info) == HRT_OK && info.stack_bottom != 0) {
        bottom = info.stack_bottom;
    } else {
        // A thread that the kernel did not make, as the first one on Linux: libc knows its stack.
        pthread_attr_t attr;
        if (pthread_getattr_np(pthread_self(), &attr) == 0) {
            void *address;
            std::size_t bytes;
            if (pthread_attr_getstack(&attr, &address, &bytes) == 0) {
                bottom = reinterpret_cast<std::uintptr_t>(address);
            }
            pthread_attr_destroy(&attr);
        }
    }
    std::uintptr_t half = (top - bottom) / 2;
    mine.stack_bottom = bottom;
    mine.stack_middle = bottom + half;
    mine.stack_reserve = bottom + (half < reserve_bytes ? half : reserve_bytes);
}

Worker *make_worker() {
    if (free_workers) {
        Worker *old = free_workers;
        free_workers = old->next_free;
        return old;
    }
    void *memory = hrt_alloc_aligned(sizeof(Worker), alignof(Worker), HRT_ZONE_ANY, HRT_ALLOC_ZERO);
    if (!memory) {
        return nullptr;
    }
    auto *made = new (memory) Worker{};
    made->number = workers_made.load(std::memory_order_relaxed);
    if (made->number < most_workers) {
        workers[made->number].store(made, std::memory_order_relaxed);
        workers_made.store(made->number + 1, std::memory_order_release);
    }
    return made;
}

// A thread that is a worker ends.
void leave(void *value) {
    auto *mine = static_cast<Worker *>(value);
    empty_pool(mine->pool);
    LockGuard guard(lock);
    mine->next_free = free_workers;
    free_workers = mine;
    this_worker = nullptr;
}

void become(Worker &mine) {
    find_stack(mine);
    mine.failure.site = nullptr;
    mine.current = nullptr;
    // Somebody may have asked before: the first would-be fork looks.
    mine.fork_limit.store(Worker::has_question, std::memory_order_relaxed);
    this_worker = &mine;
}

void *run_worker(void *argument) {
    auto &mine = *static_cast<Worker *>(argument);
    become(mine);
    work_until(mine, nullptr);
    leave(&mine);
    if (running_threads.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        hrt_wake(reinterpret_cast<const std::uint32_t *>(&running_threads), HRT_WAKE_ALL, 0);
    }
    return nullptr;
}

// Binds the threads where the kernel leaves them in peace: there each CPU has one of them. Linux' own
// balancing serves better than bindings, with which a strange program on one CPU would hold up all.
bool should_bind(std::uint32_t count) { return hrt_calls->cpu_at_gs != 0 && count <= hrt_cpu_count(); }

int start_thread(std::uint32_t index, std::uint32_t count, std::uint32_t first_cpu) {
    Worker *worker = make_worker();
    if (!worker) {
        return HRT_ENOMEM;
    }
    hrt_thread_attr attr;
    hrt_thread_attr_init(&attr);
    attr.name = "ndpc worker";
    attr.flags = HRT_THREAD_DETACHED;
    if (should_bind(count)) {
        attr.cpu = static_cast<std::int32_t>((first_cpu + index) % hrt_cpu_count());
    }
    running_threads.fetch_add(1, std::memory_order_relaxed);
    scheduler.attention.fetch_add(Scheduler::one_hungry, std::memory_order_relaxed);
    int status = HRT_ENOMEM;
    for (std::uint64_t bytes = most_stack_bytes; status == HRT_ENOMEM && bytes >= least_stack_bytes;
         bytes /= 2) {
        attr.stack_bytes = bytes;
        status = hrt_thread_create(nullptr, &attr, run_worker, worker);
    }
    if (status != HRT_OK) {
        running_threads.fetch_sub(1, std::memory_order_relaxed);
        scheduler.attention.fetch_sub(Scheduler::one_hungry, std::memory_order_relaxed);
        worker->next_free = free_workers;
        free_workers = worker;
    }
    return status;
}

} // namespace

Worker *worker_at(std::uint32_t number) { return workers[number].load(std::memory_order_relaxed); }

std::uint32_t worker_count() { return workers_made.load(std::memory_order_acquire); }

bool is_stopping() { return stopping.load(std::memory_order_seq_cst); }

int start(std::uint32_t threads_wanted, bool thread_per_element) {
    LockGuard guard(lock);
    if (started) {
        return HRT_OK;
    }
    if (!has_leave_key) {
        if (int status = hrt_key_create(&leave_key, leave); status != HRT_OK) {
            return status;
        }
        has_leave_key = true;
    }
    std::uint32_t count = threads_wanted != 0 ? threads_wanted : hrt_cpu_count();
    count = count > most_workers / 2 ? most_workers / 2 : count;
    if (thread_per_element) {
        count = 1;
    }
    stopping.store(false, std::memory_order_relaxed);
    scheduler.thread_per_element = thread_per_element;
    scheduler.serial = count == 1;
    scheduler.forking_depth = static_cast<std::uint32_t>(std::bit_width(count * pieces_each));
    started = true;
    for (std::uint32_t i = 1; i < count; i++) {
        if (int status = start_thread(i, count, hrt_cpu_self()); status != HRT_OK && i == 1) {
            // Without any helper the loops need not be divisible; with some, they make do with those.
            scheduler.serial = true;
        }
    }
    return HRT_OK;
}

void stop() {
    {
        LockGuard guard(lock);
        if (!started) {
            return;
        }
        started = false;
    }
    stopping.store(true, std::memory_order_seq_cst);
    for (std::uint32_t i = 0; i < worker_count(); i++) {
        wake_worker(*worker_at(i));
    }
    while (std::uint32_t running = running_threads.load(std::memory_order_acquire)) {
        hrt_wait(reinterpret_cast<const std::uint32_t *>(&running_threads), running, HRT_FOREVER,
                 HRT_WAIT_NO_INTR);
    }
}

Worker &attach_worker() {
    start(0, false);
    Worker *mine;
    {
        LockGuard guard(lock);
        mine = make_worker();
    }
    if (!mine) {
        std::fputs("ndpc: out of memory: none for another worker\n", stderr);
        std::exit(1);
    }
    become(*mine);
    hrt_key_set(leave_key, mine);
    return *mine;
}

} // namespace ndpc
