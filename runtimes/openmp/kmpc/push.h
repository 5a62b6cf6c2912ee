// SPDX-License-Identifier: Apache-2.0 OR MIT
// What clauses of a parallel construct ask for: kept by the thread until its next region (push.cpp).
#ifndef HADAL_OMP_KMPC_PUSH_H
#define HADAL_OMP_KMPC_PUSH_H

#include "core/team.h"

namespace hadal::omp::kmpc {

struct Pushed {
    uint32_t threads;
    Bind bind;
};

// They hold for one region only.
inline Pushed take_pushed(Thread &thread) {
    Pushed pushed = {thread.pushed_threads, thread.pushed_bind};
    thread.pushed_threads = 0;
    thread.pushed_bind = Bind::False;
    return pushed;
}

} // namespace hadal::omp::kmpc

#endif
