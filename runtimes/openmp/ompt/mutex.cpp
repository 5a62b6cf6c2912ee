// SPDX-License-Identifier: Apache-2.0 OR MIT
// Mutual exclusion: locks, `critical`, `atomic`, `ordered`. A lock is known by its address.
#include "events.h"

namespace hadal::omp::ompt {

namespace {

State state_of(MutexKind kind) {
    switch (kind) {
    case MutexKind::Critical:
        return State::WaitCritical;
    case MutexKind::Atomic:
        return State::WaitAtomic;
    case MutexKind::Ordered:
        return State::WaitOrdered;
    default:
        return State::WaitLock;
    }
}

uint64_t id_of(const void *lock) { return reinterpret_cast<uintptr_t>(lock); }

void say_mutex(Event event, MutexKind kind, const void *lock) {
    say<void(int, uint64_t, const void *)>(event, static_cast<int>(kind), id_of(lock), caller.code);
}

} // namespace

Acquire::Acquire(MutexKind which, const void *object, uint32_t hint)
    : kind(which), lock(object), thread(*self().thread), from(caller), before(thread.tool.state) {
    say<void(int, unsigned, unsigned, uint64_t, const void *)>(Event::MutexAcquire, static_cast<int>(kind),
                                                               hint, MUTEX_IMPL, id_of(lock), from.code);
    thread.tool.wait_id = id_of(lock);
    thread.tool.state = state_of(kind);
}

void Acquire::end(bool is_mine, bool is_again) {
    thread.tool.state = before;
    thread.tool.wait_id = 0;
    caller = from;
    if (!is_mine) {
        return;
    }
    if (is_again) {
        say<void(int, uint64_t, const void *)>(Event::NestLock, static_cast<int>(Endpoint::Begin),
                                               id_of(lock), from.code);
    } else {
        say_mutex(Event::MutexAcquired, kind, lock);
    }
}

void mutex_released(MutexKind kind, const void *lock) { say_mutex(Event::MutexReleased, kind, lock); }

void nest_lock_released(const void *lock, bool is_last) {
    if (is_last) {
        mutex_released(MutexKind::NestLock, lock);
        return;
    }
    say<void(int, uint64_t, const void *)>(Event::NestLock, static_cast<int>(Endpoint::End), id_of(lock),
                                           caller.code);
}

void lock_init(MutexKind kind, const void *lock, uint32_t hint) {
    say<void(int, unsigned, unsigned, uint64_t, const void *)>(Event::LockInit, static_cast<int>(kind), hint,
                                                               MUTEX_IMPL, id_of(lock), caller.code);
}

void lock_destroy(MutexKind kind, const void *lock) { say_mutex(Event::LockDestroy, kind, lock); }

} // namespace hadal::omp::ompt
