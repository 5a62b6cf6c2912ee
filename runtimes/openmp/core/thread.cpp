// SPDX-License-Identifier: Apache-2.0 OR MIT
// Threads of the program that use OpenMP: each is known from its first call on, as the only member of a team
// of its own, until it ends.
#include <new>
#include <pthread.h>

#include "form.h"
#include "memory.h"
#include "ompt/ompt.h"
#include "places.h"
#include "pool.h"
#include "serial.h"

namespace hadal::omp {

thread_local constinit Member *current = nullptr;

namespace {

pthread_once_t started = PTHREAD_ONCE_INIT;
// Whose destructors tell that a thread ends. Threads of an unmodified program end in its C library, which the
// kernel's keys do not hear of; threads of an image may have been made by hadal/hrt.h alone.
uint32_t end_key;
pthread_key_t libc_end_key;

// A thread of the program ends: its teams' threads are for others.
void on_thread_end(void *value) {
    Thread &thread = *static_cast<Thread *>(value);
    Member &me = *thread.initial;
    // Once only: from here on the descriptor may be another thread's.
    hrt_key_set(end_key, nullptr);
    pthread_setspecific(libc_end_key, nullptr);
    if (ompt::is_on()) {
        current = &me;
        ompt::thread_end(thread);
    }
    current = nullptr;
    thread.is_unplaced = false;
    team_dismiss(me);
    thread_give_back(thread);
}

void forget_teams(Member &me) {
    me.hot = nullptr;
    for (Member *inner : me.alone) {
        if (inner != nullptr) {
            forget_teams(*inner);
        }
    }
}

// fork(): the child process has only the thread that called it, which makes new teams when it needs them. It
// must not be in a region: nobody would come to the barrier.
void on_fork_child() {
    pool_forget();
    Member *me = current;
    if (me == nullptr) {
        return;
    }
    for (; me != nullptr; me = me->outer) {
        forget_teams(*me);
    }
}

void start() {
    read_environment();
    ompt::start();
    pthread_atfork(nullptr, nullptr, on_fork_child);
    if (hrt_key_create(&end_key, on_thread_end) != HRT_OK ||
        pthread_key_create(&libc_end_key, on_thread_end) != 0) {
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
    prepare_implicit(me);
    me.implicit.own_icvs = settings.icvs;
    me.implicit.icvs = &me.implicit.own_icvs;
    place_initial(me);
    serial_follow(me);
    return me;
}

// The initial thread before it has used OpenMP: a tool learns of it when it does.
bool is_early = false;
thread_local constinit Member *early = nullptr;

} // namespace

Member &adopt_early() {
    is_early = true;
    Member &me = self();
    is_early = false;
    if (ompt::is_on()) {
        early = &me;
        current = nullptr;
    }
    return me;
}

Member &adopt_thread() {
    pthread_once(&started, start);
    if (HRT_UNLIKELY(early != nullptr)) {
        Member &me = *early;
        early = nullptr;
        current = &me;
        ompt::thread_begin(*me.thread, ompt::ThreadKind::Initial);
        return me;
    }
    Thread *thread = thread_new();
    if (thread == nullptr) {
        fatal("more than %u threads use OpenMP", THREADS_MAX);
    }
    thread->name = hrt_thread_self();
    Member &me = initial_member(*thread);
    current = &me;
    hrt_key_set(end_key, thread);
    pthread_setspecific(libc_end_key, thread);
    if (ompt::is_on() && !is_early) {
        ompt::thread_begin(*thread, ompt::ThreadKind::Initial);
    }
    return me;
}

} // namespace hadal::omp
