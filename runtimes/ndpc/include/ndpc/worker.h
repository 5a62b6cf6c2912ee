// SPDX-License-Identifier: Apache-2.0 OR MIT
// Workers: threads that run pieces of loops. Each CPU has one; a thread of the program's becomes one with its
// first call.
#ifndef NDPC_WORKER_H
#define NDPC_WORKER_H

#include <atomic>
#include <cstdint>

#include "error.h"
#include "memory.h"

namespace ndpc {

struct Loop;
struct Piece;

struct alignas(64) Worker {
    // The private deque: loops that run on this worker, the newest first to end. `oldest` is the oldest one
    // with elements that nobody has begun.
    Loop *newest;
    Loop *oldest;
    Loop *current; // the loop whose element this worker is in
    std::uintptr_t stack_bottom;
    std::uintptr_t stack_reserve; // below this a recursion is too deep
    std::uintptr_t stack_middle;  // below this a join takes no other work
    Failure failure;
    Pool pool;
    std::uint32_t number; // among `workers`
    Worker *next_free;
    std::uint64_t offers_paid; // time stamp counter up to which the offers so far are paid for

    // What the others see: the piece that may be stolen, and whether the worker sleeps.
    alignas(64) std::atomic<Piece *> offer;
    std::atomic<std::uint32_t> asleep;
    // What the stack pointer is compared with where the serial clone might fork: `stack_reserve`, or what is
    // above every stack where somebody has a question.
    std::atomic<std::uintptr_t> fork_limit;

    static constexpr std::uintptr_t has_question = ~std::uintptr_t{0};
};

// Initial-exec: the address is a constant and no call, also in position-independent code.
extern constinit thread_local Worker *this_worker __attribute__((tls_model("initial-exec")));

// Makes the calling thread a worker.
Worker &attach_worker();

inline Worker &worker() {
    Worker *mine = this_worker;
    return __builtin_expect(mine != nullptr, 1) ? *mine : attach_worker();
}

struct Scheduler {
    // How many workers look for work, and how many loops have failed but not ended. Loops look at this word
    // after each block of elements.
    static constexpr std::uint32_t one_hungry = 1;
    static constexpr std::uint32_t hungry_mask = 0xffff;
    static constexpr std::uint32_t one_failing = 0x10000;
    alignas(64) std::atomic<std::uint32_t> attention;
    alignas(64) bool serial; // one worker: nothing is ever divided
    bool thread_per_element;
    // Inside loops that can be halved so many times there are pieces enough for everybody: what is below them
    // is left to the serial clone.
    std::uint32_t forking_depth;
};

extern Scheduler scheduler;

// `threads` 0: one for each CPU. Called by the thread that will call the functions; further calls change
// nothing until stop().
int start(std::uint32_t threads, bool thread_per_element);
void stop();
std::uint32_t worker_count();

inline std::uintptr_t stack_pointer() {
    std::uintptr_t pointer;
    asm("mov %%rsp, %0" : "=r"(pointer));
    return pointer;
}

// For functions that call themselves.
inline bool is_stack_low() { return stack_pointer() < worker().stack_reserve; }
void note_depth(const Site &site);
inline int fail_depth(const Site &site) {
    note_depth(site);
    return failed;
}

} // namespace ndpc

#endif
