// SPDX-License-Identifier: Apache-2.0 OR MIT
// Locks under the names that compilers give the user routines when they know where a call is.
#include "api/simple_lock.h"
#include "core/team.h"
#include "ident.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

// api/locks.cpp, api/nest_locks.cpp
struct NestLock;
extern "C" {
void omp_init_lock(SimpleLock *);
void omp_init_lock_with_hint(SimpleLock *, uint32_t);
void omp_destroy_lock(SimpleLock *);
void omp_set_lock(SimpleLock *);
void omp_unset_lock(SimpleLock *);
int omp_test_lock(SimpleLock *);
void omp_init_nest_lock(NestLock *);
void omp_init_nest_lock_with_hint(NestLock *, uint32_t);
void omp_destroy_nest_lock(NestLock *);
void omp_set_nest_lock(NestLock *);
void omp_unset_nest_lock(NestLock *);
int omp_test_nest_lock(NestLock *);
}

OMP_EXPORT void __kmpc_init_lock(const Ident *, Gtid, SimpleLock *lock) { omp_init_lock(lock); }
OMP_EXPORT void __kmpc_init_lock_with_hint(const Ident *, Gtid, SimpleLock *lock, uintptr_t hint) {
    omp_init_lock_with_hint(lock, static_cast<uint32_t>(hint));
}
OMP_EXPORT void __kmpc_destroy_lock(const Ident *, Gtid, SimpleLock *lock) { omp_destroy_lock(lock); }
OMP_EXPORT void __kmpc_set_lock(const Ident *, Gtid, SimpleLock *lock) { omp_set_lock(lock); }
OMP_EXPORT void __kmpc_unset_lock(const Ident *, Gtid, SimpleLock *lock) { omp_unset_lock(lock); }
OMP_EXPORT int __kmpc_test_lock(const Ident *, Gtid, SimpleLock *lock) { return omp_test_lock(lock); }

OMP_EXPORT void __kmpc_init_nest_lock(const Ident *, Gtid, NestLock *lock) { omp_init_nest_lock(lock); }
OMP_EXPORT void __kmpc_init_nest_lock_with_hint(const Ident *, Gtid, NestLock *lock, uintptr_t hint) {
    omp_init_nest_lock_with_hint(lock, static_cast<uint32_t>(hint));
}
OMP_EXPORT void __kmpc_destroy_nest_lock(const Ident *, Gtid, NestLock *lock) { omp_destroy_nest_lock(lock); }
OMP_EXPORT void __kmpc_set_nest_lock(const Ident *, Gtid, NestLock *lock) { omp_set_nest_lock(lock); }
OMP_EXPORT void __kmpc_unset_nest_lock(const Ident *, Gtid, NestLock *lock) { omp_unset_nest_lock(lock); }
OMP_EXPORT int __kmpc_test_nest_lock(const Ident *, Gtid, NestLock *lock) { return omp_test_nest_lock(lock); }
