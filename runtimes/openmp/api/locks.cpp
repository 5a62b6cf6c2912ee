// SPDX-License-Identifier: Apache-2.0 OR MIT
// Simple locks. An omp_lock_t has at least four bytes, which are a core Lock.
#include "core/lock.h"
#include "routine.h"

using namespace hadal::omp;

OMP_EXPORT void omp_init_lock(Lock *lock) { HRT_STORE(&lock->word, LOCK_FREE, HRT_RELAXED); }
// There is one kind of lock for all: it is as fast as can be without contention, and sleeps with it.
OMP_EXPORT void omp_init_lock_with_hint(Lock *lock, uint32_t) { omp_init_lock(lock); }
OMP_EXPORT void omp_destroy_lock(Lock *lock) { HRT_STORE(&lock->word, LOCK_FREE, HRT_RELAXED); }
OMP_EXPORT void omp_set_lock(Lock *lock) { hadal::omp::lock(*lock); }
OMP_EXPORT void omp_unset_lock(Lock *lock) { unlock(*lock); }
OMP_EXPORT int omp_test_lock(Lock *lock) { return try_lock(*lock); }

OMP_FORTRAN(void, omp_init_lock, (Lock *));
OMP_EXPORT void omp_init_lock_with_hint_(Lock *lock, const uint32_t *) { omp_init_lock(lock); }
OMP_FORTRAN(void, omp_destroy_lock, (Lock *));
OMP_FORTRAN(void, omp_set_lock, (Lock *));
OMP_FORTRAN(void, omp_unset_lock, (Lock *));
OMP_FORTRAN(int, omp_test_lock, (Lock *));
