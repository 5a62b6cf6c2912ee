// SPDX-License-Identifier: Apache-2.0 OR MIT
// The run-time's threads: those of teams, and the idle ones.
#ifndef HADAL_OMP_POOL_H
#define HADAL_OMP_POOL_H

#include "team.h"

namespace hadal::omp {

// A thread descriptor with a number of its own; null when there are THREADS_MAX.
Thread *thread_new();
// Descriptors of threads that have ended.
void thread_give_back(Thread &thread);

// For a child process, which has none of its parent's threads.
void pool_forget();

// Gives a member a thread, an idle one or a new one, which runs the team's regions after the one that
// the member was in last. False if there is none to be had.
bool thread_assign(Member &member);
// The thread of a dismissed member is idle from now on, and waits for the next; called by it.
Member &thread_rest(Thread &thread);

// For a tool, at the end of the program: has all threads that wait for work say that they end. `me`: whose
// team is given up before. Threads that others' teams keep do not say so.
void pool_end(Member *me);

} // namespace hadal::omp

#endif
