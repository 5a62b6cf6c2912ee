// SPDX-License-Identifier: Apache-2.0 OR MIT
// `taskloop`: a loop cut into tasks. The first two words of a task's data are its bounds, and the third is
// the descriptor of the reductions, if there are any.
#include "core/taskgroup.h"
#include "loop.h"
#include "reduction.h"
#include "task.h"

using namespace hadal::omp;
using namespace hadal::omp::gomp;

namespace {

// Tasks for each member where the program does not say how many: enough for some balance.
constexpr uint64_t TASKS_PER_MEMBER = 4;

struct Cut {
    uint64_t tasks;
    uint64_t exact; // iterations of all tasks but the last one; 0: they differ by one at most

    Chunk part(uint64_t trips, uint64_t number) const {
        if (exact != 0) {
            uint64_t begin = number * exact, left = trips - begin;
            return {begin, begin + (exact < left ? exact : left)};
        }
        uint64_t each = trips / tasks, larger = trips % tasks;
        uint64_t begin = number * each + (number < larger ? number : larger);
        return {begin, begin + each + (number < larger)};
    }
};

// `number`: what the clause says, of tasks or, as grain size, of iterations; 0: nothing.
Cut cut_of(const Member &me, uint64_t trips, unsigned flags, uint64_t number) {
    if ((flags & TASKLOOP_GRAINSIZE) != 0 && number > 0) {
        if ((flags & TASKLOOP_STRICT) != 0) {
            return {(trips - 1) / number + 1, number};
        }
        // Each task gets at least the grain size, and less than twice that.
        uint64_t tasks = trips / number;
        return {tasks > 0 ? tasks : 1, 0};
    }
    if (number == 0) {
        number = me.size * TASKS_PER_MEMBER;
    }
    return {number < trips ? number : trips, 0};
}

void generate(Member &me, Function function, const TaskData &data, const TaskOptions &options,
              const Loop &loop, const Cut &cut) {
    bool at_once = runs_at_once(me, options);
    for (uint64_t number = 0; number < cut.tasks; number++) {
        Chunk part = cut.part(loop.trips, number);
        Task &task = make_task(me, function, data, options);
        uint64_t *words = static_cast<uint64_t *>(task.data);
        words[0] = loop.first + part.begin * loop.step;
        words[1] = part.end == loop.trips ? loop.end : loop.first + part.end * loop.step;
        say_created(me, task, at_once, false);
        if (at_once) {
            task_run_included(me, task);
        } else {
            task_submit(me, task);
        }
    }
}

void generate_all(Member &me, Function function, const TaskData &data, const TaskOptions &options,
                  const Loop &loop, const Cut &cut) {
    if (ompt::is_on()) {
        ompt::work_both(me, ompt::WorkKind::Taskloop, true, cut.tasks);
        generate(me, function, data, options, loop, cut);
        ompt::work_both(me, ompt::WorkKind::Taskloop, false, cut.tasks);
        return;
    }
    generate(me, function, data, options, loop, cut);
}

void taskloop(Function function, const TaskData &data, unsigned flags, uint64_t number, int priority,
              const Loop &loop) {
    Member &me = self();
    uintptr_t *reductions =
        (flags & TASKLOOP_REDUCTION) != 0 ? static_cast<uintptr_t **>(data.data)[2] : nullptr;
    if (loop.trips == 0 || generates_none(me)) {
        if (reductions != nullptr) {
            reductions[2] = 0; // tells the caller that there is nothing to combine
        }
        return;
    }
    const TaskOptions options = options_of(flags, (flags & TASKLOOP_IF) != 0, priority);
    const Cut cut = cut_of(me, loop.trips, flags, number);
    if ((flags & TASKLOOP_NOGROUP) != 0) {
        generate_all(me, function, data, options, loop, cut);
        return;
    }
    Taskgroup group;
    taskgroup_begin(me, group);
    if (reductions != nullptr) {
        group.reductions = reductions_new(me, reductions);
    }
    generate_all(me, function, data, options, loop, cut);
    taskgroup_end(me, group);
}

} // namespace

OMP_EXPORT void GOMP_taskloop(Function function, void *data, CopyFunction copy, long bytes, long align,
                              unsigned flags, unsigned long number, int priority, long first, long end,
                              long step) {
    OMPT_ENTRY();
    const TaskData block = {data, copy, static_cast<size_t>(bytes), static_cast<size_t>(align)};
    taskloop(function, block, flags, number, priority, loop_of(first, end, step));
}

OMP_EXPORT void GOMP_taskloop_ull(Function function, void *data, CopyFunction copy, long bytes, long align,
                                  unsigned flags, unsigned long number, int priority, ull first, ull end,
                                  ull step) {
    OMPT_ENTRY();
    const TaskData block = {data, copy, static_cast<size_t>(bytes), static_cast<size_t>(align)};
    taskloop(function, block, flags, number, priority, loop_of((flags & TASKLOOP_UP) != 0, first, end, step));
}
