// SPDX-License-Identifier: Apache-2.0 OR MIT
// Random numbers: a counter whose values are mixed, so that neighbouring seeds have nothing in common.
#include "fuzz.h"

uint64_t next(struct worker *worker) {
    uint64_t mixed = worker->random += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 33)) * 0xff51afd7ed558ccd;
    mixed = (mixed ^ (mixed >> 33)) * 0xc4ceb9fe1a85ec53;
    return mixed ^ (mixed >> 33);
}

uint64_t below(struct worker *worker, uint64_t limit) { return next(worker) % limit; }

int once_in(struct worker *worker, uint64_t times) { return below(worker, times) == 0; }
