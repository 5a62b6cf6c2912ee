// SPDX-License-Identifier: Apache-2.0 OR MIT
// `parallel`. Combined constructs that begin a worksharing construct, too, are beside that.
#include "core/serial.h"
#include "gomp.h"

using namespace hadal::omp;
using namespace hadal::omp::gomp;

// Everything but a region of one thread whose team is ready.
[[gnu::noinline]] static void fork_region(Function function, void *data, unsigned threads, unsigned flags) {
    Region region;
    region.run = run_region;
    region.code = code_of(function);
    region.data = data;
    fork(self(), region, threads_of(threads), bind_of(flags));
}

OMP_EXPORT void GOMP_parallel(Function function, void *data, unsigned threads, unsigned flags) {
    Member *me = current;
    Member *inner = nullptr;
    if (HRT_LIKELY(me != nullptr) && is_serial(*me, threads_of(threads))) {
        inner = serial_begin_quickly(*me);
    }
    if (inner == nullptr) {
        OMPT_ENTRY();
        fork_region(function, data, threads, flags);
        return;
    }
    function(data);
    serial_end(*inner);
}
