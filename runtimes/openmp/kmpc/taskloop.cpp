// SPDX-License-Identifier: Apache-2.0 OR MIT
// Taskloops: copies of a task that the compiler has made as a pattern, each with a part of the iterations.
// The pattern itself becomes the last of them, if the compiler need not be told which one is the last: it
// learns that from its function that completes copies.
#include <cstring>

#include "core/taskgroup.h"
#include "task.h"
#include "task_reduction.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

namespace {

constexpr uint64_t TASKS_BY_MEMBER = 8; // without a clause: as many as balance well
constexpr int32_t GRAINSIZE = 1, NUM_TASKS = 2;

using Duplicate = void (*)(KmpTask *copy, KmpTask *pattern, int32_t is_last);

// Parts of `size` iterations; the first `larger` have one more, the last may have fewer.
struct Parts {
    uint64_t count, size, larger;
};

Parts parts_of(const Member &me, uint64_t trips, int32_t clause, uint64_t value, bool is_strict) {
    if (clause == GRAINSIZE && value > 0) {
        if (is_strict) {
            return {(trips - 1) / value + 1, value, 0};
        }
        // Not fewer iterations than that in any task, and less than twice as many.
        uint64_t count = trips / value > 0 ? trips / value : 1;
        return {count, trips / count, trips % count};
    }
    uint64_t count = clause == NUM_TASKS && value > 0 ? value : TASKS_BY_MEMBER * me.size;
    count = count < trips ? count : trips;
    return {count, trips / count, trips % count};
}

// Where the bounds are in each copy.
struct Bounds {
    size_t lower, upper;

    // Clang's own layout: behind the bounds and the step is a flag for the last task.
    bool has_flag_behind(size_t task_bytes) const { return lower == 40 && upper == 48 && task_bytes >= 80; }
    static int32_t &flag_of(KmpTask &task) { return *reinterpret_cast<int32_t *>(&at(task, 64)); }

    static uint64_t &at(KmpTask &task, size_t offset) {
        return *reinterpret_cast<uint64_t *>(reinterpret_cast<char *>(&task) + offset);
    }
};

// As far as the bounds say; their type may be unsigned.
uint64_t trips_from(uint64_t lower, uint64_t upper, int64_t step) {
    if (step == 1) {
        return upper - lower + 1;
    }
    if (step > 0) {
        return static_cast<int64_t>(lower) > static_cast<int64_t>(upper)
                   ? 0
                   : (upper - lower) / static_cast<uint64_t>(step) + 1;
    }
    return static_cast<int64_t>(lower) < static_cast<int64_t>(upper)
               ? 0
               : (lower - upper) / (0 - static_cast<uint64_t>(step)) + 1;
}

KmpTask &copy_of(Member &me, KmpTask &pattern, Duplicate duplicate, bool is_last) {
    const TaskLink &link = link_of(pattern);
    KmpTask &copy = make_task(me, link.flags, link.task_bytes, link.shareds_bytes, pattern.entry);
    void *shareds = copy.shareds;
    memcpy(static_cast<void *>(&copy), &pattern, link.task_bytes);
    memcpy(shareds, pattern.shareds, link.shareds_bytes);
    copy.shareds = shareds;
    if (duplicate != nullptr) {
        duplicate(&copy, &pattern, is_last);
    }
    return copy;
}

// The iterations from `lower` on, `trips` of them.
struct Iterations {
    uint64_t lower, trips, step;
};

void generate(Member &me, KmpTask &pattern, const Bounds &bounds, Iterations left, const Parts &parts,
              Duplicate duplicate, bool deferred) {
    for (uint64_t number = 0; number < parts.count; number++) {
        bool is_last = number + 1 == parts.count;
        uint64_t size = parts.size + (number < parts.larger);
        size = size < left.trips ? size : left.trips;
        bool is_pattern = is_last && duplicate == nullptr;
        KmpTask &part = is_pattern ? pattern : copy_of(me, pattern, duplicate, is_last);
        if (duplicate == nullptr && bounds.has_flag_behind(link_of(pattern).task_bytes)) {
            Bounds::flag_of(part) = is_last;
        }
        Bounds::at(part, bounds.lower) = left.lower;
        Bounds::at(part, bounds.upper) = left.lower + (size - 1) * left.step;
        left.lower += size * left.step;
        left.trips -= size;
        if (deferred) {
            submit(me, part);
        } else {
            Task &task = *link_of(part).task;
            if (ompt::is_on()) {
                ompt::task_create(me, task, ompt::TASK_EXPLICIT | ompt::TASK_UNDEFERRED, false);
            }
            task_run_included(me, task);
        }
    }
    if (duplicate != nullptr) {
        drop(me, pattern);
    }
}

void taskloop(KmpTask &pattern, int32_t condition, const uint64_t *lower, const uint64_t *upper, int64_t step,
              int32_t has_nogroup, int32_t clause, uint64_t value, bool is_strict, void *duplicate) {
    Member &me = self();
    if (has_nogroup == 0) {
        taskgroup_push(me);
        link_of(pattern).task->group = me.task->group; // it was made before the group
    }
    Bounds bounds = {
        static_cast<size_t>(reinterpret_cast<const char *>(lower) - reinterpret_cast<const char *>(&pattern)),
        static_cast<size_t>(reinterpret_cast<const char *>(upper) -
                            reinterpret_cast<const char *>(&pattern))};
    Iterations all = {*lower, trips_from(*lower, *upper, step), static_cast<uint64_t>(step)};
    if (all.trips == 0) {
        drop(me, pattern);
    } else {
        Parts parts = parts_of(me, all.trips, clause, value, is_strict);
        if (ompt::is_on()) {
            ompt::work_both(me, ompt::WorkKind::Taskloop, true, parts.count);
        }
        generate(me, pattern, bounds, all, parts, reinterpret_cast<Duplicate>(duplicate), condition != 0);
        if (ompt::is_on()) {
            ompt::work_both(me, ompt::WorkKind::Taskloop, false, parts.count);
        }
    }
    if (has_nogroup == 0) {
        end_taskgroup(me);
    }
}

} // namespace

OMP_EXPORT void __kmpc_taskloop(const Ident *, Gtid, KmpTask *task, int32_t condition, uint64_t *lower,
                                uint64_t *upper, int64_t step, int32_t has_nogroup, int32_t clause,
                                uint64_t value, void *duplicate) {
    OMPT_ENTRY();
    taskloop(*task, condition, lower, upper, step, has_nogroup, clause, value, false, duplicate);
}

// `modifier`: whether the clause says `strict`.
OMP_EXPORT void __kmpc_taskloop_5(const Ident *, Gtid, KmpTask *task, int32_t condition, uint64_t *lower,
                                  uint64_t *upper, int64_t step, int32_t has_nogroup, int32_t clause,
                                  uint64_t value, int32_t modifier, void *duplicate) {
    OMPT_ENTRY();
    taskloop(*task, condition, lower, upper, step, has_nogroup, clause, value, modifier != 0, duplicate);
}
