// SPDX-License-Identifier: Apache-2.0 OR MIT
// Routines about places: which there are, and which is the calling thread's.
#include "core/places.h"

#include "core/team.h"
#include "routine.h"

using namespace hadal::omp;

namespace {

template <typename Integer> void cpu_numbers(int place, Integer *numbers) {
    self();
    const cpu_set_t *cpus = cpus_of_place(place);
    for (int cpu = 0; cpus != nullptr && cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(static_cast<size_t>(cpu), cpus)) {
            *numbers++ = cpu;
        }
    }
}

Partition current_partition() { return self().partition; }

template <typename Integer> void partition_numbers(Integer *numbers) {
    Partition partition = current_partition();
    for (uint32_t index = 0; index < partition.count; index++) {
        *numbers++ = static_cast<Integer>(partition.first + index);
    }
}

} // namespace

OMP_EXPORT int omp_get_proc_bind() { return static_cast<int>(self().task->icvs->bind); }
OMP_EXPORT int omp_get_num_places() {
    self();
    return static_cast<int>(place_count());
}

OMP_EXPORT int omp_get_place_num_procs(int place) {
    self();
    const cpu_set_t *cpus = cpus_of_place(place);
    return cpus != nullptr ? CPU_COUNT(cpus) : 0;
}

OMP_EXPORT void omp_get_place_proc_ids(int place, int *numbers) { cpu_numbers(place, numbers); }

OMP_EXPORT int omp_get_place_num() {
    Member &me = self();
    place_root(me);
    return me.place;
}

OMP_EXPORT int omp_get_partition_num_places() { return static_cast<int>(current_partition().count); }
OMP_EXPORT void omp_get_partition_place_nums(int *numbers) { partition_numbers(numbers); }

OMP_FORTRAN(int, omp_get_proc_bind, ());
OMP_FORTRAN(int, omp_get_num_places, ());
OMP_FORTRAN(int, omp_get_place_num, ());
OMP_FORTRAN(int, omp_get_partition_num_places, ());
OMP_FORTRAN(void, omp_get_partition_place_nums, (int *));
OMP_EXPORT void omp_get_partition_place_nums_8_(int64_t *numbers) { partition_numbers(numbers); }
OMP_FORTRAN_OF_INT(int, omp_get_place_num_procs)
OMP_EXPORT void omp_get_place_proc_ids_(const int32_t *place, int32_t *numbers) {
    cpu_numbers(*place, numbers);
}
OMP_EXPORT void omp_get_place_proc_ids_8_(const int64_t *place, int64_t *numbers) {
    cpu_numbers(to_int(*place), numbers);
}
