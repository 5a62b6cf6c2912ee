// SPDX-License-Identifier: Apache-2.0 OR MIT
// Who is calling. A thread that has never met OpenMP gets its number here.
#include "core/team.h"
#include "ident.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

OMP_EXPORT Gtid __kmpc_global_thread_num(const Ident *) { return static_cast<Gtid>(self().thread->gtid); }

OMP_EXPORT int32_t __kmpc_bound_thread_num(const Ident *) { return static_cast<int32_t>(self().number); }

OMP_EXPORT int32_t __kmpc_bound_num_threads(const Ident *) { return static_cast<int32_t>(self().size); }

OMP_EXPORT int32_t __kmpc_in_parallel(const Ident *) { return self().team->active_level > 0; }

// What code of older compilers asks before it calls __kmpc_fork_call.
OMP_EXPORT int32_t __kmpc_ok_to_fork(const Ident *) { return 1; }

// Around the program; the run-time begins by itself, and ends with the program.
OMP_EXPORT void __kmpc_begin(const Ident *, int32_t) { self(); }

OMP_EXPORT void __kmpc_end(const Ident *) {}
