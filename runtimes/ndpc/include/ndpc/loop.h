// SPDX-License-Identifier: Apache-2.0 OR MIT
// Parallel loops: fork and join over ranges of indices, divided only on demand.
//
// A worker runs its loops depth first and keeps them in a list, its private deque. Nothing is divided until
// some other worker has nothing to do. Then, after its current block of elements, the worker offers half of
// what is left of its oldest loop; whoever comes first takes the offer, the worker itself if nobody does. A
// block grows until it takes some microseconds, so that the question costs nothing even for the smallest of
// bodies.
#ifndef NDPC_LOOP_H
#define NDPC_LOOP_H

#include <atomic>
#include <cstdint>
#include <limits>

#include "worker.h"

namespace ndpc {

// What the pieces of one loop share; on the stack of the worker that began the loop.
struct Join {
    using Run = int (*)(Loop &loop);
    Run run;
    const void *body;
    Worker *owner;
    Loop *outer;
    std::atomic<std::uint32_t> pieces{0};            // given away and not done
    std::atomic<bool> is_cancelled{false};           // a piece has found a failure further out
    std::atomic<std::uint32_t> lock{0};              // of the two below, for writing
    std::atomic<std::int64_t> failed_at{no_failure}; // lowest element that has failed
    Failure *failure = nullptr;

    static constexpr std::int64_t no_failure = std::numeric_limits<std::int64_t>::max();
};

// A range that a worker runs.
struct Loop {
    std::int64_t next, end; // not begun
    std::int64_t running;   // first of the current block
    Join *join;
    Loop *outer;
    Loop *older, *newer; // in the private deque
};

// A range that was given away.
struct Piece {
    Join *join;
    std::int64_t begin, end;
};

inline void push_loop(Worker &mine, Loop &loop) {
    loop.older = mine.newest;
    loop.newer = nullptr;
    if (mine.newest) {
        mine.newest->newer = &loop;
    }
    mine.newest = &loop;
    if (!mine.oldest) {
        mine.oldest = &loop;
    }
    mine.current = &loop;
}

inline void pop_loop(Worker &mine, Loop &loop) {
    mine.newest = loop.older;
    if (mine.newest) {
        mine.newest->newer = nullptr;
    }
    if (mine.oldest == &loop) {
        mine.oldest = nullptr;
    }
    mine.current = loop.outer;
}

// Somebody is hungry or something has failed. Other than `done` ends the loop.
int attend(Worker &mine, Loop &loop);
// Somebody is hungry, and the worker is not between the elements of a loop: whether an older loop has a piece
// for them.
bool can_give(Worker &mine);
// Element `index` has ended with `status`. What follows it is not needed any more.
int note_failure(Worker &mine, Loop &loop, std::int64_t index, int status);
// Waits for what was given away, doing other work, and gives the status of the whole loop.
int finish_loop(Worker &mine, Join &join, int status);
// All elements, each in a thread forked for it.
int run_element_threads(std::int64_t count, const void *body,
                        int (*element)(const void *body, std::int64_t index));

// The time that a block of elements should take, in cycles of the time stamp counter: long against looking at
// one shared word, short against what stealing costs.
constexpr std::uint64_t block_cycles = 20000;
// Loops too short to be worth a look at the clock; each of their elements is a block.
constexpr std::int64_t untimed_elements = 8;

template <class Body> int run_loop(Loop &loop) {
    const Body &body = *static_cast<const Body *>(loop.join->body);
    Worker &mine = worker();
    bool timed = loop.end - loop.next > untimed_elements;
    std::uint64_t before = timed ? __builtin_ia32_rdtsc() : 0;
    std::int64_t block = 1;
    while (loop.next < loop.end) {
        std::int64_t begin = loop.next;
        std::int64_t end = loop.end - begin > block ? begin + block : loop.end;
        loop.next = end;
        loop.running = begin;
        for (std::int64_t i = begin; i < end; i++) {
            if (int status = body(i); __builtin_expect(status != 0, 0)) {
                return note_failure(mine, loop, i, status);
            }
        }
        if (__builtin_expect(scheduler.attention.load(std::memory_order_relaxed) != 0, 0)) {
            NDPC_TRY(attend(mine, loop));
        }
        if (timed) {
            std::uint64_t now = __builtin_ia32_rdtsc();
            if (now - before < block_cycles) {
                block *= 2;
            } else if (now - before > 4 * block_cycles && block > 1) {
                block /= 2;
            }
            before = now;
        }
    }
    return done;
}

// Whether a body may take long. That of a small one is a few instructions, never a call or a loop.
enum class Size { any, small };
// So many elements with small bodies are not worth being divided.
constexpr std::int64_t small_elements = 1024;

// Runs body(i) for each i < count: int(std::int64_t), 0 for success. The lowest failing element's failure is
// the loop's, as if the elements ran in order.
template <Size size = Size::any, class Body> int each_index(std::int64_t count, const Body &body) {
    if (scheduler.serial || count <= (size == Size::small ? small_elements : 1)) {
        for (std::int64_t i = 0; i < count; i++) {
            NDPC_TRY(body(i));
        }
        return done;
    }
    Worker &mine = worker();
    Join join{.run = run_loop<Body>, .body = &body, .owner = &mine, .outer = mine.current};
    Loop loop{.next = 0,
              .end = count,
              .running = 0,
              .join = &join,
              .outer = mine.current,
              .older = nullptr,
              .newer = nullptr};
    push_loop(mine, loop);
    int status = run_loop<Body>(loop);
    pop_loop(mine, loop);
    bool quiet = status == done && join.pieces.load(std::memory_order_acquire) == 0 &&
                 join.failed_at.load(std::memory_order_relaxed) == Join::no_failure &&
                 !join.is_cancelled.load(std::memory_order_relaxed);
    return __builtin_expect(quiet, 1) ? done : finish_loop(mine, join, status);
}

// The same for the elements of an apply-to-each, which may want a thread each.
template <Size size = Size::any, class Body> int each_element(std::int64_t count, const Body &body) {
    if (__builtin_expect(scheduler.thread_per_element, 0)) {
        return run_element_threads(count, &body, [](const void *erased, std::int64_t index) {
            return (*static_cast<const Body *>(erased))(index);
        });
    }
    return each_index<size>(count, body);
}

} // namespace ndpc

#endif
