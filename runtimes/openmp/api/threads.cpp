// SPDX-License-Identifier: Apache-2.0 OR MIT
// Routines about the current team's threads and the next one's.
#include "core/places.h"
#include "core/team.h"
#include "routine.h"

using namespace hadal::omp;

// Calls, for gcc knows what these return and takes the calls out of loops.
OMP_EXPORT int omp_get_thread_num() { return static_cast<int>(self().number); }
OMP_EXPORT int omp_get_num_threads() { return static_cast<int>(self().size); }
OMP_EXPORT int omp_get_max_threads() { return to_int(self().task->icvs->threads); }
OMP_EXPORT int omp_get_num_procs() {
    self(); // reads the environment
    return to_int(usable_cpu_count());
}
OMP_EXPORT int omp_in_parallel() { return self().team->active_level > 0; }
OMP_EXPORT int omp_get_thread_limit() { return to_int(self().task->icvs->thread_limit); }
OMP_EXPORT int omp_get_dynamic() { return self().task->icvs->dynamic; }
OMP_EXPORT int omp_get_cancellation() { return settings_read().cancellation; }

OMP_EXPORT void omp_set_num_threads(int threads) {
    // What fewer than one thread means is left to us; `fork` keeps to the limits.
    icvs_to_change(*self().task).threads = threads > 0 ? static_cast<uint32_t>(threads) : 1;
}
OMP_EXPORT void omp_set_dynamic(int dynamic) { icvs_to_change(*self().task).dynamic = dynamic != 0; }

OMP_FORTRAN(int, omp_get_thread_num, ());
OMP_FORTRAN(int, omp_get_num_threads, ());
OMP_FORTRAN(int, omp_get_max_threads, ());
OMP_FORTRAN(int, omp_get_num_procs, ());
OMP_FORTRAN(int, omp_in_parallel, ());
OMP_FORTRAN(int, omp_get_thread_limit, ());
OMP_FORTRAN(int, omp_get_dynamic, ());
OMP_FORTRAN(int, omp_get_cancellation, ());
OMP_FORTRAN_OF_INT(void, omp_set_num_threads)
OMP_FORTRAN_OF_INT(void, omp_set_dynamic)

// Clang's library also has these by value, for Fortran modules that bind to them.
OMP_EXPORT void ompc_set_num_threads(int threads) { omp_set_num_threads(threads); }
OMP_EXPORT void ompc_set_dynamic(int dynamic) { omp_set_dynamic(dynamic); }
