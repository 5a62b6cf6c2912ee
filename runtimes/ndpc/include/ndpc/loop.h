// SPDX-License-Identifier: Apache-2.0 OR MIT
// Parallel loops: fork and join over ranges of indices, divided only on demand.
//
// A worker runs its loops depth first and keeps them in a list, its private deque. Nothing is divided until
// some other worker has nothing to do. Then, before its next block of elements, the worker offers half of
// what is left of its oldest loop; whoever comes first takes the offer, the worker itself if nobody does. A
// block grows until it takes some microseconds, so that the question costs nothing even for the smallest of
// bodies.
#ifndef NDPC_LOOP_H
#define NDPC_LOOP_H

#include <atomic>
#include <bit>
#include <cstdint>
#include <limits>

#include "mode.h"

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
    Failure failure{};                               // if one has

    static constexpr std::int64_t no_failure = std::numeric_limits<std::int64_t>::max();
};

// A range that a worker runs.
struct Loop {
    std::int64_t next, end; // not begun
    std::int64_t running;   // first of the current block
    Join *join;
    Loop *outer;
    std::uint32_t depth; // how often this loop and those around it on this worker could be halved
    Loop *older, *newer; // in the private deque
};

// How often `count` elements can be halved.
inline std::uint32_t halvings(std::int64_t count) {
    return static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint64_t>(count)));
}

// A range that was given away.
struct Piece {
    Join *join;
    std::int64_t begin, end;
    std::uint32_t maker; // the worker that has allocated it
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

// Somebody is hungry or something has failed, or `offers`, and a block is about to begin. Other than `done`
// ends the loop. With `offers` a piece is offered also if nobody is hungry yet.
int attend(Worker &mine, Loop &loop, bool offers);
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

// Whether somebody waits for work, and no loop of the caller's worker has any.
inline bool should_divide() {
    return (scheduler.attention.load(std::memory_order_relaxed) & Scheduler::hungry_mask) != 0 &&
           !can_give(worker());
}

// The time that a block of elements should take, in cycles of the time stamp counter: long against looking at
// one shared word, short against what stealing costs.
constexpr std::uint64_t block_cycles = 20000;
// Loops too short to be worth a look at the clock; each of their elements is a block. It may take long, and
// who gets hungry meanwhile could not ask: outside the serial clone a piece is offered before.
constexpr std::int64_t untimed_elements = 8;

// One element by the clone that forks. Out of line, as all that is not run often: compilers inline so much in
// a source and no more, which should go to the serial clone.
template <class Body> __attribute__((noinline)) int run_forking(const void *body, std::int64_t index) {
    return status_of([=]() -> int { return (*static_cast<const Body *>(body))(Forking(), index); });
}

// One element, by the clone that serves where bodies have clones.
template <class Body> int run_element(const Body &body, bool forks, std::int64_t index) {
    if constexpr (std::is_invocable_v<const Body &, Forking, std::int64_t>) {
        if (forks) {
            return run_forking<Body>(&body, index);
        }
        return status_of([&]() -> int { return body(Serial(), index); });
    } else {
        return status_of([&]() -> int { return body(index); });
    }
}

template <class Body> int run_loop(Loop &loop) {
    const Body &body = *static_cast<const Body *>(loop.join->body);
    Worker &mine = worker();
    bool forks = loop.depth < scheduler.forking_depth;
    bool timed = loop.end - loop.next > untimed_elements;
    std::uint64_t before = timed ? __builtin_ia32_rdtsc() : 0;
    std::int64_t block = 1;
    while (loop.next < loop.end) {
        std::int64_t begin = loop.next;
        std::int64_t end = loop.end - begin > block ? begin + block : loop.end;
        loop.next = end;
        loop.running = begin;
        bool offers = forks && !timed;
        if (__builtin_expect(offers || scheduler.attention.load(std::memory_order_relaxed) != 0, 0)) {
            NDPC_TRY(attend(mine, loop, offers));
        }
        for (std::int64_t i = begin; i < end; i++) {
            if (int status = run_element(body, forks, i); __builtin_expect(status != 0, 0)) {
                return note_failure(mine, loop, i, status);
            }
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

// A loop that may be divided. `depth`: as in Loop, of what is around it.
template <class Body>
__attribute__((noinline)) int divide_loop(std::int64_t count, std::uint32_t depth, const Body &body) {
    Worker &mine = worker();
    Join join{.run = run_loop<Body>, .body = &body, .owner = &mine, .outer = mine.current};
    Loop loop{.next = 0,
              .end = count,
              .running = 0,
              .join = &join,
              .outer = mine.current,
              .depth = depth + halvings(count),
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
    const Loop *outer = worker().current;
    return divide_loop(count, outer ? outer->depth : 0, body);
}

// The rest of a loop of the serial clone, from element `next` on, divided: nobody has anything else to give.
template <class Body>
__attribute__((noinline, cold)) int divide_rest(std::int64_t next, std::int64_t count, const Body &body) {
    return divide_loop(count - next, 0,
                       [&, next](Mode auto mode, std::int64_t i) -> int { return body(mode, next + i); });
}

// The elements of an apply-to-each, body(mode, i) for each i < count: in the serial clone one after another
// until somebody asks for some, in the other one divided, or with a thread each.
template <Mode M, class Body>
int each_element([[maybe_unused]] M mode, std::int64_t count, const Site &site, const Body &body) {
    if constexpr (std::is_same_v<M, Forking>) {
        NDPC_TRY(check_stack(site));
        if (__builtin_expect(scheduler.thread_per_element, 0)) {
            return run_element_threads(count, &body, run_forking<Body>);
        }
        if (count > 1) {
            const Loop *outer = worker().current;
            return divide_loop(count, outer ? outer->depth : 0, body);
        }
        return count == 0 ? static_cast<int>(done) : run_forking<Body>(&body, 0);
    } else {
        for (std::int64_t i = 0; i < count; i++) {
            if ((i == 0 || i + 1 < count) && __builtin_expect(has_question(), 0)) {
                bool forks = false;
                NDPC_TRY(answer(forks, site));
                if constexpr (std::is_same_v<M, Serial>) {
                    if (forks) {
                        return divide_rest(i, count, body);
                    }
                }
            }
            NDPC_TRY(body(mode, i));
        }
        return done;
    }
}

} // namespace ndpc

#endif
