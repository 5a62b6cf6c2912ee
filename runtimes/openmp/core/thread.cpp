// SPDX-License-Identifier: Apache-2.0 OR MIT
// Threads of the program that use OpenMP: each is known from its first call on, as the only member of a team
// of its own, until it ends.
#include <new>
#include <pthread.h>

#include "form.h"
#include "memory.h"
#include "places.h"
#include "pool.h"

namespace hadal::omp {

thread_local constinit Member *current = nullptr;

namespace {

pthread_once_t started = PTHREAD_ONCE_INIT;
uint32_t end_key;

// A thread of the program ends: its teams' threads are for others.
void on_thread_end(void *value) {
    Thread &thread = *static_cast<Thread *>(value);
    Member &me = *thread.initial;
    current = nullptr;
    team_dismiss(me);
    thread_give_back(thread);
}

// fork(): the child process has only the thread that called it, which makes new teams when it needs them. It
// must not be in a region: nobody would come to the barrier.
void on_fork_child() {
    pool_forget();
    Member *me = current;
    if (me == nullptr) {
        return;
    }
    for (Team *team = me->thread->serial_teams; team != nullptr; team = team->next) {
        team->members[0]->hot = nullptr;
    }
    for (; me != nullptr; me = me->outer) {
        me->hot = nullptr;
    }
}

void start() {
    read_environment();
    pthread_atfork(nullptr, nullptr, on_fork_child);
    if (hrt_key_create(&end_key, on_thread_end) != HRT_OK) {
        fatal("all keys of thread-local data are in use");
    }
}

// The initial team of a descriptor, which may be one of a thread that has ended.
Member &initial_member(Thread &thread) {
    if (thread.initial == nullptr) {
        thread.initial = team_new().members[0];
    }
    Member &me = *thread.initial;
    me.thread = &thread;
    me.implicit.parent = nullptr;
    me.implicit.depth = 0;
    me.implicit.team = me.team;
    me.implicit.runner = &me;
    me.implicit.icvs = settings.icvs;
    me.task = &me.implicit;
    place_initial(me);
    return me;
}

} // namespace

Member &adopt_thread() {
    pthread_once(&started, start);
    Thread *thread = thread_new();
    if (thread == nullptr) {
        fatal("more than %u threads use OpenMP", THREADS_MAX);
    }
    thread->name = hrt_thread_self();
    Member &me = initial_member(*thread);
    current = &me;
    hrt_key_set(end_key, thread);
    return me;
}

} // namespace hadal::omp
