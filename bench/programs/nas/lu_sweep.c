// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// LU's sweeps over the grid, in lexicographic order and back, by a pipeline of threads.
//
// Each thread has a block of rows of every plane. It starts with a plane as soon as the thread before it has
// finished its block of that plane, so the blocks that are worked on at a time form a diagonal. Only the rows
// at the edge of a block move between threads.

#include "lu.h"

#include <omp.h>
#include <sched.h>
#include <stdatomic.h>

enum { SPINS = 2000, LINES = 128 }; // looks before giving the CPU away; bytes that a flag has for itself

// How many planes each member has finished, in all sweeps together. They are equal between the sweeps, at a
// barrier: a member may start its next plane once its predecessor has finished more planes than itself.
static struct { _Alignas(LINES) atomic_ulong planes; } finished[CFD_SIZE];

// A thread's place in the pipeline.
struct member {
    int rank;
    int count; // the members; threads beyond take no part
    int first_row, last_row;
};

static struct member place_of_thread(void) {
    int rows = cfd.last_inner, threads = omp_get_num_threads();
    int count = threads < rows ? threads : rows;
    int rank = omp_get_thread_num();
    return (struct member){
        .rank = rank,
        .count = count,
        .first_row = CFD_FIRST_INNER + rows * rank / count,
        .last_row = rows * (rank + 1) / count,
    };
}

static void wait_for(int predecessor, unsigned long planes) {
    for (int spins = 0; atomic_load_explicit(&finished[predecessor].planes, memory_order_acquire) < planes;) {
        if (++spins >= SPINS) {
            sched_yield(); // the predecessor may need this CPU
        }
    }
}

// Passes all planes: from the lowest up behind the member of the next lower rank, or the other way round.
static void pass_planes(const struct member *member, bool upwards) {
    int predecessor = upwards ? member->rank - 1 : member->rank + 1;
    unsigned long planes = atomic_load_explicit(&finished[member->rank].planes, memory_order_relaxed);
    for (int n = CFD_FIRST_INNER; n <= cfd.last_inner; n++) {
        planes++;
        if (predecessor >= 0 && predecessor < member->count) {
            wait_for(predecessor, planes);
        }
        if (upwards) {
            for (int j = member->first_row; j <= member->last_row; j++) {
                lu_lower_row(n, j);
            }
        } else {
            for (int j = member->last_row; j >= member->first_row; j--) {
                lu_upper_row(cfd.last_inner + CFD_FIRST_INNER - n, j);
            }
        }
        atomic_store_explicit(&finished[member->rank].planes, planes, memory_order_release);
    }
}

static void sweep(bool upwards) {
    struct member member = place_of_thread();
    if (member.rank < member.count) {
        pass_planes(&member, upwards);
    }
#pragma omp barrier
}

void lu_sweep_lower(void) { sweep(true); }

void lu_sweep_upper(void) { sweep(false); }
