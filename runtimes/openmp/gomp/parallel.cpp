// SPDX-License-Identifier: Apache-2.0 OR MIT
// `parallel`. Combined constructs that begin a worksharing construct, too, are beside that.
#include "gomp.h"

using namespace hadal::omp;
using namespace hadal::omp::gomp;

OMP_EXPORT void GOMP_parallel(Function function, void *data, unsigned threads, unsigned flags) {
    Region region;
    region.run = run_region;
    region.code = code_of(function);
    region.data = data;
    fork(self(), region, threads_of(threads), bind_of(flags));
}
