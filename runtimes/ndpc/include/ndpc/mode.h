// SPDX-License-Identifier: Apache-2.0 OR MIT
// The clones of a function. Translated functions that fork are templates of a mode and come in two clones:
// one that forks, and the serial elision, in which a loop is a loop. Where a loop begins the latter compares
// the stack pointer with one word of its worker, and no more: it is above the stack pointer if the stack is
// used up, if somebody is hungry, or if a loop around has failed.
#ifndef NDPC_MODE_H
#define NDPC_MODE_H

#include <cstdint>
#include <type_traits>

#include "worker.h"

namespace ndpc {

// Loops can be divided.
struct Forking {};
// They cannot, unless somebody has nothing to do and nobody has anything to give.
struct Serial {};
// They never are: for programs that were translated with --serial.
struct InOrder {};

template <class T>
concept Mode = std::is_same_v<T, Forking> || std::is_same_v<T, Serial> || std::is_same_v<T, InOrder>;

// One comparison with memory and one branch: functions that call themselves do little more than that. A
// relaxed load of the word, as aligned ones are on this machine.
__attribute__((always_inline)) inline bool has_question() {
    asm goto("cmpq %0, %%rsp\n\tjb %l[yes]" : : "m"(this_worker->fork_limit) : "cc" : yes);
    return false;
yes:
    return true;
}

// Answers it: other than `done` ends the loop that was to begin at `site`. Afterwards `forks` says whether it
// should be divided.
int answer(bool &forks, const Site &site);

// Where a loop begins that is not the serial clone's: whether the stack suffices.
inline int check_stack(const Site &site) {
    if (__builtin_expect(is_stack_low(), 0)) {
        return fail_depth(site);
    }
    return done;
}

// Enters translated functions: runs the clone that serves, body(mode), and gives a status.
template <class Body> int call(const Body &body) {
    worker();
    return status_of([&]() -> int {
        if (scheduler.serial && !scheduler.thread_per_element) {
            return body(Serial());
        }
        return body(Forking());
    });
}

} // namespace ndpc

#endif
