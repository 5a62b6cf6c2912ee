// SPDX-License-Identifier: Apache-2.0 OR MIT
// Taskloops: copies of a task that the compiler has made as a pattern, each with a part of the iterations.
// The pattern itself becomes the last of them.
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

KmpLoopTask &copy_of(Member &me, KmpLoopTask &pattern, Duplicate duplicate, bool is_last) {
    const TaskLink &link = link_of(pattern);
    KmpTask &copy = make_task(me, link.flags, link.task_bytes, link.shareds_bytes, pattern.entry);
    void *shareds = copy.shareds;
    memcpy(static_cast<void *>(&copy), &pattern, link.task_bytes);
    memcpy(shareds, pattern.shareds, link.shareds_bytes);
    copy.shareds = shareds;
    KmpLoopTask &loop_task = static_cast<KmpLoopTask &>(copy);
    loop_task.is_last = is_last;
    if (duplicate != nullptr) {
        duplicate(&copy, &pattern, is_last);
    }
    return loop_task;
}

void submit_part(Member &me, KmpLoopTask &part, uint64_t lower, uint64_t upper, bool deferred) {
    part.lower = lower;
    part.upper = upper;
    if (deferred) {
        submit(me, part);
    } else {
        task_run_included(me, *link_of(part).task);
    }
}

void generate(Member &me, KmpLoopTask &pattern, uint64_t lower, uint64_t trips, const Parts &parts,
              Duplicate duplicate, bool deferred) {
    uint64_t step = static_cast<uint64_t>(pattern.step);
    for (uint64_t number = 0; number < parts.count; number++) {
        bool is_last = number + 1 == parts.count;
        uint64_t size = parts.size + (number < parts.larger);
        size = size < trips ? size : trips;
        trips -= size;
        KmpLoopTask *part = &pattern;
        if (is_last) {
            pattern.is_last = 1;
        } else {
            part = &copy_of(me, pattern, duplicate, false);
        }
        submit_part(me, *part, lower, lower + (size - 1) * step, deferred);
        lower += size * step;
    }
}

void taskloop(KmpTask *kmp, int32_t condition, const uint64_t *lower, const uint64_t *upper, int64_t step,
              int32_t has_nogroup, int32_t clause, uint64_t value, bool is_strict, void *duplicate) {
    Member &me = self();
    if (has_nogroup == 0) {
        taskgroup_push(me);
    }
    KmpLoopTask &pattern = static_cast<KmpLoopTask &>(*kmp);
    uint64_t first = *lower, trips = trips_from(first, *upper, step);
    pattern.step = step;
    if (trips == 0) {
        drop(me, pattern);
    } else {
        generate(me, pattern, first, trips, parts_of(me, trips, clause, value, is_strict),
                 reinterpret_cast<Duplicate>(duplicate), condition != 0);
    }
    if (has_nogroup == 0) {
        end_taskgroup(me);
    }
}

} // namespace

OMP_EXPORT void __kmpc_taskloop(const Ident *, Gtid, KmpTask *task, int32_t condition, uint64_t *lower,
                                uint64_t *upper, int64_t step, int32_t has_nogroup, int32_t clause,
                                uint64_t value, void *duplicate) {
    taskloop(task, condition, lower, upper, step, has_nogroup, clause, value, false, duplicate);
}

// `modifier`: whether the clause says `strict`.
OMP_EXPORT void __kmpc_taskloop_5(const Ident *, Gtid, KmpTask *task, int32_t condition, uint64_t *lower,
                                  uint64_t *upper, int64_t step, int32_t has_nogroup, int32_t clause,
                                  uint64_t value, int32_t modifier, void *duplicate) {
    taskloop(task, condition, lower, upper, step, has_nogroup, clause, value, modifier != 0, duplicate);
}
