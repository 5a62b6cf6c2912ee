// SPDX-License-Identifier: Apache-2.0 OR MIT
// The extensions in clang's omp.h that bind the calling thread to a set of CPUs of the program's choice.
#include <cstdlib>
#include <sched.h>

#include "core/places.h"
#include "core/team.h"
#include "environment.h"
#include "routine.h"

using namespace hadal::omp;

namespace {

using Mask = void *;

cpu_set_t &set_of(Mask *mask) {
    if (mask == nullptr || *mask == nullptr) {
        fatal("an affinity mask is used that kmp_create_affinity_mask has not made");
    }
    return *static_cast<cpu_set_t *>(*mask);
}

bool may_use(int cpu) {
    self();
    return cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET(static_cast<size_t>(cpu), &cpus_of_process());
}

} // namespace

OMP_EXPORT void kmp_set_warnings_on() { set_remarks(true); }
OMP_EXPORT void kmp_set_warnings_off() { set_remarks(false); }

OMP_EXPORT void kmp_create_affinity_mask(Mask *mask) {
    *mask = calloc(1, sizeof(cpu_set_t));
    if (*mask == nullptr) {
        fatal("there is no memory for an affinity mask");
    }
}
OMP_EXPORT void kmp_destroy_affinity_mask(Mask *mask) {
    free(*mask);
    *mask = nullptr;
}

OMP_EXPORT int kmp_get_affinity_max_proc() { return CPU_SETSIZE; }

// These return 0, or something else for a CPU that the program may not use.
OMP_EXPORT int kmp_set_affinity_mask_proc(int cpu, Mask *mask) {
    if (!may_use(cpu)) {
        return -1;
    }
    CPU_SET(static_cast<size_t>(cpu), &set_of(mask));
    return 0;
}
OMP_EXPORT int kmp_unset_affinity_mask_proc(int cpu, Mask *mask) {
    if (!may_use(cpu)) {
        return -1;
    }
    CPU_CLR(static_cast<size_t>(cpu), &set_of(mask));
    return 0;
}
// Whether the CPU is in the mask.
OMP_EXPORT int kmp_get_affinity_mask_proc(int cpu, Mask *mask) {
    return may_use(cpu) && CPU_ISSET(static_cast<size_t>(cpu), &set_of(mask));
}

OMP_EXPORT int kmp_set_affinity(Mask *mask) { return sched_setaffinity(0, sizeof(cpu_set_t), &set_of(mask)); }
OMP_EXPORT int kmp_get_affinity(Mask *mask) { return sched_getaffinity(0, sizeof(cpu_set_t), &set_of(mask)); }
