// SPDX-License-Identifier: Apache-2.0 OR MIT
// Tasks with dependences, and `taskwait depend`.
#include <cstdlib>

#include "task.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

namespace {

constexpr uintptr_t ALL_ADDRESSES = UINTPTR_MAX; // another way to say ALL_MEMORY
constexpr uint8_t IN = 1, OUT = 2, INOUT = 3, MUTEXINOUTSET = 4, INOUTSET = 8, ALL_MEMORY = 0x80;

DependKind kind_of(const KmpDependence &dependence) {
    if ((dependence.flags & ALL_MEMORY) != 0 || dependence.address == ALL_ADDRESSES) {
        return DependKind::AllMemory;
    }
    switch (dependence.flags) {
    case IN:
        return DependKind::In;
    case OUT:
    case INOUT:
        return DependKind::Out;
    case MUTEXINOUTSET:
        return DependKind::MutexInOutSet;
    case INOUTSET:
        return DependKind::InOutSet;
    default:
        fatal("there is no kind %u of dependences", dependence.flags);
    }
}

// The compiler's list in the core's terms. A second list, of addresses that are in it once, may follow it.
class List {
  public:
    List(int32_t count, const KmpDependence *list, int32_t more_count, const KmpDependence *more)
        : length(static_cast<uint32_t>(count) + static_cast<uint32_t>(more_count)) {
        if (length > SHORT) {
            items = static_cast<Dependence *>(malloc(length * sizeof(Dependence)));
            if (items == nullptr) {
                fatal("there is no memory for %u dependences of a task", length);
            }
        }
        append(list, count, 0);
        append(more, more_count, static_cast<uint32_t>(count));
    }
    ~List() {
        if (items != few) {
            free(items);
        }
    }
    List(const List &) = delete;
    List &operator=(const List &) = delete;

    const Dependence *begin() const { return items; }
    uint32_t count() const { return length; }

  private:
    static constexpr uint32_t SHORT = 16;

    void append(const KmpDependence *list, int32_t count, uint32_t at) {
        for (int32_t index = 0; index < count; index++) {
            items[at + static_cast<uint32_t>(index)] = {list[index].address, kind_of(list[index])};
        }
    }

    uint32_t length;
    Dependence few[SHORT];
    Dependence *items = few;
};

void wait_for(Member &me, const List &list) { taskwait_dependent(me, list.begin(), list.count()); }

bool run_nothing(Member &, Task &) { return true; }

void submit_dependent(Member &me, KmpTask &kmp, const List &list) {
    Task &task = *link_of(kmp).task;
    read_priority(task, kmp);
    if (drop_cancelled(me, kmp)) {
        return;
    }
    bool at_once = runs_at_once(me, options_of(task));
    if (ompt::is_on()) {
        ompt::task_create(me, task, ompt::TASK_EXPLICIT | (at_once ? ompt::TASK_UNDEFERRED : 0), true);
    }
    if (at_once) {
        if (me.task->dependences == nullptr) {
            task_run_included(me, task);
            return;
        }
        // Tasks whose events are outstanding may be before it.
        if (me.task->is_final) {
            wait_for(me, list);
            task_run_included(me, task);
            return;
        }
    }
    task_submit_dependent(me, task, list.begin(), list.count());
}

} // namespace

OMP_EXPORT int32_t __kmpc_omp_task_with_deps(const Ident *, Gtid, KmpTask *kmp, int32_t count,
                                             const KmpDependence *list, int32_t more_count,
                                             const KmpDependence *more) {
    OMPT_ENTRY();
    Member &me = self();
    if (count + more_count == 0) {
        submit(me, *kmp);
        return 0;
    }
    submit_dependent(me, *kmp, List(count, list, more_count, more));
    return 0;
}

// Also in front of a task that is not deferred.
OMP_EXPORT void __kmpc_omp_wait_deps(const Ident *, Gtid, int32_t count, const KmpDependence *list,
                                     int32_t more_count, const KmpDependence *more) {
    OMPT_ENTRY();
    Member &me = self();
    if (me.task->dependences != nullptr || ompt::is_on()) {
        wait_for(me, List(count, list, more_count, more));
    }
}

// With `nowait` it is a task that does nothing.
OMP_EXPORT void __kmpc_omp_taskwait_deps_51(const Ident *, Gtid, int32_t count, const KmpDependence *list,
                                            int32_t more_count, const KmpDependence *more,
                                            int32_t has_nowait) {
    OMPT_ENTRY();
    Member &me = self();
    if (me.task->dependences == nullptr && !ompt::is_on()) {
        return;
    }
    if (has_nowait == 0) {
        wait_for(me, List(count, list, more_count, more));
        return;
    }
    List both(count, list, more_count, more);
    Task &task = task_new(me, 0, {});
    task.run = run_nothing;
    task_submit_dependent(me, task, both.begin(), both.count());
}
