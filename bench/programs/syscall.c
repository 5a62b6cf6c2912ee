// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The shortest system call: into the kernel and back. On Hadal it stays in ring 0.

#include "bench.h"

#include <unistd.h>

static void getppid_figure(const char *name) {
    for (unsigned i = 0; i < bench_rounds(bench_choose(200, 4000)); i++) {
        uint64_t start = bench_ticks();
        getppid();
        bench_sample(bench_ticks() - start, 1);
    }
    bench_report(name);
}

static const struct bench_figure figures[] = {{"syscall.getppid", getppid_figure}};

BENCH_MAIN(figures)
