// SPDX-License-Identifier: Apache-2.0 OR MIT
// The clauses num_threads, proc_bind, num_teams and thread_limit: they come before the call that begins the
// region, and hold for that only.
#include "push.h"

#include "ident.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

namespace {

// A clause with a number that makes no sense asks for one thread.
uint32_t at_least_one(int32_t count) { return count < 1 ? 1 : static_cast<uint32_t>(count); }

void push_teams(uint32_t teams, int32_t limit) {
    Thread &thread = *self().thread;
    thread.pushed_teams = teams;
    thread.pushed_teams_limit = limit < 0 ? 0 : static_cast<uint32_t>(limit);
}

} // namespace

// Zero threads are no request, as for the compilers' own run-times.
OMP_EXPORT void __kmpc_push_num_threads(const Ident *, Gtid, int32_t threads) {
    self().thread->pushed_threads = threads == 0 ? 0 : at_least_one(threads);
}

// num_threads(strict: ...), with what to do if there are fewer threads.
OMP_EXPORT void __kmpc_push_num_threads_strict(const Ident *, Gtid, int32_t threads, int32_t severity,
                                               const char *message) {
    constexpr int32_t FATAL = 2;
    Member &me = self();
    uint32_t wanted = at_least_one(threads), limit = me.task->icvs->thread_limit;
    if (wanted > limit || wanted >= THREADS_MAX) {
        const char *text = message != nullptr ? message : "num_threads(strict) asks for too many threads";
        if (severity == FATAL) {
            fatal("%s: %u of %u", text, limit, wanted);
        }
        warn("%s: %u of %u", text, limit, wanted);
    }
    me.thread->pushed_threads = wanted;
}

OMP_EXPORT void __kmpc_push_proc_bind(const Ident *, Gtid, int32_t bind) {
    if (bind >= static_cast<int32_t>(Bind::Primary) && bind <= static_cast<int32_t>(Bind::Spread)) {
        self().thread->pushed_bind = static_cast<Bind>(bind);
    }
}

// 0 teams, or a limit of 0 threads: the clause is not there.
OMP_EXPORT void __kmpc_push_num_teams(const Ident *, Gtid, int32_t teams, int32_t limit) {
    push_teams(teams < 0 ? 1 : static_cast<uint32_t>(teams), limit);
}

// num_teams(lower: upper); any number from one to the other will do.
OMP_EXPORT void __kmpc_push_num_teams_51(const Ident *, Gtid, int32_t lower, int32_t upper, int32_t limit) {
    if (upper != 0 && upper < lower) {
        fatal("num_teams(%d:%d): the upper bound is less than the lower one", lower, upper);
    }
    push_teams(static_cast<uint32_t>(upper > 0 ? upper : lower > 0 ? lower : 0), limit);
}

// thread_limit of a target construct, whose code runs as part of the calling task.
OMP_EXPORT void __kmpc_set_thread_limit(const Ident *, Gtid, int32_t limit) {
    if (limit > 0) {
        icvs_to_change(*self().task).thread_limit = static_cast<uint32_t>(limit);
    }
}
