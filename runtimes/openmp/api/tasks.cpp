// SPDX-License-Identifier: Apache-2.0 OR MIT
// Routines about tasks.
#include "core/task.h"

#include "core/team.h"
#include "routine.h"

using namespace hadal::omp;

OMP_EXPORT int omp_in_final() { return self().task->is_final; }
OMP_EXPORT int omp_in_explicit_task() { return self().task->is_explicit; }
OMP_EXPORT int omp_get_max_task_priority() { return to_int(settings_read().max_task_priority); }

// Both front ends hand out the address of the task as its event.
OMP_EXPORT void omp_fulfill_event(uintptr_t event) {
    if (event == 0) {
        fatal("omp_fulfill_event: there is no such event");
    }
    task_fulfill(*reinterpret_cast<Task *>(event));
}

OMP_FORTRAN(int, omp_in_final, ());
OMP_FORTRAN(int, omp_in_explicit_task, ());
OMP_FORTRAN(int, omp_get_max_task_priority, ());
// gfortran's module passes the event by value, too.
OMP_FORTRAN(void, omp_fulfill_event, (uintptr_t));
