// SPDX-License-Identifier: Apache-2.0 OR MIT
// Parallel loops: what happens when somebody is hungry, when an element fails, and at the end.
#include "ndpc/loop.h"

#include "lock.h"
#include "steal.h"

namespace ndpc {
namespace {

// Whether an earlier element of this loop, which is around the caller, or of one around it has failed.
bool is_cancelled(const Loop *outer) {
    for (; outer; outer = outer->outer) {
        if (outer->join->failed_at.load(std::memory_order_relaxed) < outer->running) {
            return true;
        }
    }
    return false;
}

// The oldest loop that has anything left.
Loop *oldest_with_work(Worker &mine) {
    Loop *loop = mine.oldest;
    while (loop && loop->next >= loop->end) {
        loop = loop->newer;
    }
    mine.oldest = loop;
    return loop;
}

// Offers half of what is left of the oldest loop: the largest piece there is. So many at once and then one in
// so many cycles, so that a chain of loops too small to be divided is slowed down little by those who hope.
void divide(Worker &mine) {
    constexpr std::uint64_t offers_at_once = 16;
    std::uint64_t now = __builtin_ia32_rdtsc();
    std::uint64_t paid = mine.offers_paid;
    if (paid > now) {
        return;
    }
    Loop *loop = oldest_with_work(mine);
    if (!loop) {
        return;
    }
    auto *piece = static_cast<Piece *>(allocate_block(mine.pool, sizeof(Piece)));
    if (!piece) {
        return; // nothing to give away with; the loop goes on here
    }
    std::int64_t left = loop->end - loop->next;
    // Where there is not more than one element for each worker all go: they may take long, and nobody could
    // ask for those that stay.
    std::int64_t middle = loop->next + (left < worker_count() ? 0 : left / 2);
    *piece = {loop->join, middle, loop->end, mine.number};
    constexpr std::uint64_t credit = (offers_at_once - 1) * block_cycles;
    mine.offers_paid = (now - paid > credit ? now - credit : paid) + block_cycles;
    loop->end = middle;
    loop->join->pieces.fetch_add(1, std::memory_order_relaxed);
    mine.offer.store(piece, std::memory_order_seq_cst);
    wake_any(mine);
}

} // namespace

int attend(Worker &mine, Loop &loop, bool offers) {
    std::uint32_t attention = scheduler.attention.load(std::memory_order_relaxed);
    if (attention >= Scheduler::one_failing) {
        if (is_cancelled(loop.outer)) {
            return cancelled;
        }
        // Elements before the one that failed still run: theirs would be the failure.
        std::int64_t failed_at = loop.join->failed_at.load(std::memory_order_relaxed);
        if (failed_at < loop.end) {
            loop.end = failed_at > loop.next ? failed_at : loop.next;
        }
        if (failed_at < loop.running) {
            return failed;
        }
    }
    bool wanted = offers || (attention & Scheduler::hungry_mask) != 0;
    if (wanted && !mine.offer.load(std::memory_order_relaxed)) {
        divide(mine);
    }
    return done;
}

int answer(bool &forks, const Site &site) {
    Worker &mine = worker();
    forks = false;
    if (is_stack_low()) {
        return fail_depth(site);
    }
    // Who asks writes the other way round: first what is asked for, then the limit.
    mine.fork_limit.store(mine.stack_reserve, std::memory_order_seq_cst);
    std::uint32_t attention = scheduler.attention.load(std::memory_order_seq_cst);
    if (attention == 0) {
        return done;
    }
    if (attention >= Scheduler::one_failing && is_cancelled(mine.current)) {
        return cancelled;
    }
    if (!can_give(mine)) {
        forks = (attention & Scheduler::hungry_mask) != 0;
    } else if (attention < Scheduler::one_failing && mine.offer.load(std::memory_order_seq_cst)) {
        return done; // whoever takes it asks again if others wait
    }
    ask(mine);
    return done;
}

bool can_give(Worker &mine) {
    if (mine.offer.load(std::memory_order_relaxed)) {
        return true;
    }
    divide(mine);
    return mine.offer.load(std::memory_order_relaxed) || oldest_with_work(mine);
}

int note_failure(Worker &mine, Loop &loop, std::int64_t index, int status) {
    loop.end = loop.next;
    if (status == cancelled) {
        return cancelled;
    }
    Join &join = *loop.join;
    LockGuard guard(join.lock);
    std::int64_t before = join.failed_at.load(std::memory_order_relaxed);
    if (index >= before) {
        return failed;
    }
    join.failure = mine.failure;
    join.failed_at.store(index, std::memory_order_relaxed);
    if (before == Join::no_failure) {
        scheduler.attention.fetch_add(Scheduler::one_failing, std::memory_order_seq_cst);
        ask_all();
    }
    return failed;
}

int finish_loop(Worker &mine, Join &join, int status) {
    work_until(mine, &join);
    if (join.failed_at.load(std::memory_order_relaxed) != Join::no_failure) {
        scheduler.attention.fetch_sub(Scheduler::one_failing, std::memory_order_relaxed);
        mine.failure = join.failure;
        return failed;
    }
    return status == cancelled || join.is_cancelled.load(std::memory_order_relaxed) ? cancelled : done;
}

} // namespace ndpc
