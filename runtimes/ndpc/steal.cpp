// SPDX-License-Identifier: Apache-2.0 OR MIT
// Work for workers that have none, and sleep when there is none.
#include "steal.h"

#include "hadal/hrt.h"

namespace ndpc {
namespace {

// How often a worker looks around before it yields, and yields before it sleeps: a few microseconds, less
// than a sleep costs.
constexpr int looks = 200;
constexpr int yields = 4;

bool is_any_offered() {
    for (std::uint32_t i = 0; i < worker_count(); i++) {
        if (worker_at(i)->offer.load(std::memory_order_seq_cst)) {
            return true;
        }
    }
    return false;
}

bool is_over(const Join *join) {
    return join ? join->pieces.load(std::memory_order_seq_cst) == 0 : is_stopping();
}

// The waker writes what this waits for first and looks at `asleep` then; here it is the other way round.
void sleep(Worker &mine, const Join *join, bool takes_work) {
    mine.asleep.store(1, std::memory_order_seq_cst);
    if (!is_over(join) && !(takes_work && is_any_offered())) {
        hrt_wait(reinterpret_cast<const std::uint32_t *>(&mine.asleep), 1, HRT_FOREVER, HRT_WAIT_NO_INTR);
    }
    mine.asleep.store(0, std::memory_order_relaxed);
}

} // namespace

void ask(Worker &busy) {
    // The load keeps the line shared where somebody has asked already.
    if (busy.fork_limit.load(std::memory_order_relaxed) != Worker::has_question) {
        busy.fork_limit.store(Worker::has_question, std::memory_order_seq_cst);
    }
}

void ask_all() {
    for (std::uint32_t i = 0; i < worker_count(); i++) {
        ask(*worker_at(i));
    }
}

namespace {

// Takes what a worker offers, if anything. Where others wait it is asked for more, also by itself.
Piece *take(Worker &from) {
    // The load keeps the line shared while there is nothing.
    Piece *piece = from.offer.load(std::memory_order_relaxed)
                       ? from.offer.exchange(nullptr, std::memory_order_seq_cst)
                       : nullptr;
    if (piece && (scheduler.attention.load(std::memory_order_seq_cst) & Scheduler::hungry_mask) != 0) {
        ask(from);
    }
    return piece;
}

} // namespace

Piece *find_piece(Worker &mine) {
    Piece *piece = take(mine);
    for (std::uint32_t i = 1, count = worker_count(); !piece && i < count; i++) {
        piece = take(*worker_at((mine.number + i) % count));
    }
    return piece;
}

void run_piece(Worker &mine, Piece *piece) {
    Join &join = *piece->join;
    Loop loop{.next = piece->begin,
              .end = piece->end,
              .running = piece->begin,
              .join = &join,
              .outer = join.outer,
              .depth = halvings(piece->end - piece->begin),
              .older = nullptr,
              .newer = nullptr};
    free_block_of(mine, piece->maker, piece, class_of(sizeof(Piece)));
    Loop *before = mine.current;
    push_loop(mine, loop);
    if (join.run(loop) == cancelled) {
        join.is_cancelled.store(true, std::memory_order_relaxed);
    }
    pop_loop(mine, loop);
    mine.current = before;
    // With the last piece the join may be gone.
    Worker *owner = join.owner;
    if (join.pieces.fetch_sub(1, std::memory_order_seq_cst) == 1) {
        wake_worker(*owner);
    }
}

void work_until(Worker &mine, const Join *join) {
    // A thread of the run-time's is counted as hungry before it runs.
    bool hungry = join == nullptr;
    int tries = 0;
    while (!is_over(join)) {
        bool takes_work = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) > mine.stack_middle;
        // One's own offer may be what the join waits for.
        Piece *piece = takes_work ? find_piece(mine) : take(mine);
        if (piece) {
            if (hungry) {
                scheduler.attention.fetch_sub(Scheduler::one_hungry, std::memory_order_relaxed);
                hungry = false;
            }
            tries = 0;
            run_piece(mine, piece);
            continue;
        }
        if (!hungry && takes_work) {
            scheduler.attention.fetch_add(Scheduler::one_hungry, std::memory_order_seq_cst);
            hungry = true;
            ask_all();
        }
        if (tries < looks) {
            __builtin_ia32_pause();
        } else if (tries < looks + yields) {
            hrt_thread_yield();
        } else {
            sleep(mine, join, takes_work);
        }
        tries++;
    }
    if (hungry) {
        scheduler.attention.fetch_sub(Scheduler::one_hungry, std::memory_order_relaxed);
    }
}

void wake_worker(Worker &sleeper) {
    if (sleeper.asleep.load(std::memory_order_seq_cst) != 0 &&
        sleeper.asleep.exchange(0, std::memory_order_seq_cst) != 0) {
        hrt_wake(reinterpret_cast<const std::uint32_t *>(&sleeper.asleep), 1, 0);
    }
}

void wake_any(const Worker &mine) {
    for (std::uint32_t i = 1, count = worker_count(); i < count; i++) {
        Worker &other = *worker_at((mine.number + i) % count);
        if (other.asleep.load(std::memory_order_seq_cst) != 0) {
            wake_worker(other);
            return;
        }
    }
}

} // namespace ndpc
