// SPDX-License-Identifier: Apache-2.0 OR MIT
// `teams` on the host: the teams of the league run one after the other, each with all the threads that its
// parallel regions ask for.
#include <alloca.h>

#include "core/initial.h"
#include "invoke.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

OMP_EXPORT void __kmpc_fork_teams(const Ident *, int32_t count, Outlined code, ...) {
    OMPT_ENTRY();
    void **arguments = static_cast<void **>(alloca(argument_places(count) * sizeof(void *)));
    va_list list;
    va_start(list, code);
    read_arguments(arguments, count, list);
    va_end(list);
    Member &caller = self();
    Thread &thread = *caller.thread;
    // Without a clause: what the program or its environment has asked for.
    uint32_t size = thread.pushed_teams != 0 ? thread.pushed_teams : settings.teams;
    uint32_t limit = thread.pushed_teams_limit != 0 ? thread.pushed_teams_limit : settings.teams_thread_limit;
    thread.pushed_teams = 0;
    thread.pushed_teams_limit = 0;
    size = size != 0 ? size : 1;
    auto run_teams = [&] {
        for (uint32_t number = 0; number < size; number++) {
            run_as_initial_task(caller, size, number, limit, [&](Member &me) {
                invoke(me, reinterpret_cast<void *>(code), static_cast<uint32_t>(count), arguments);
            });
        }
    };
    if (ompt::is_on()) {
        ompt::League league(caller, size);
        run_teams();
        return;
    }
    run_teams();
}
