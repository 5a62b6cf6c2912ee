// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the scheduler's files share.
#ifndef NDPC_STEAL_H
#define NDPC_STEAL_H

#include "ndpc/loop.h"

namespace ndpc {

constexpr std::uint32_t most_workers = 1024;

// All workers that may be stolen from: those below worker_count().
Worker *worker_at(std::uint32_t number);

// A piece: the worker's own offer or another's. Null: nobody offers any.
Piece *find_piece(Worker &mine);
void run_piece(Worker &mine, Piece *piece);
// Does other work until no piece of `join` is missing; without one until stop().
void work_until(Worker &mine, const Join *join);
// Makes the serial clone look at what is asked for, on one worker or on all.
void ask(Worker &busy);
void ask_all();
// Ends a worker's sleep, now or when it tries.
void wake_worker(Worker &sleeper);
// Somebody asleep should look again.
void wake_any(const Worker &mine);
bool is_stopping();

} // namespace ndpc

#endif
