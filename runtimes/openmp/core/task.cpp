// SPDX-License-Identifier: Apache-2.0 OR MIT
// Generating, scheduling and ending tasks.
//
// A member takes the most urgent of tasks with a priority first, then the newest of its own, then steals the
// oldest of others. Constraints
// (OpenMP 5.2, 12.9): tasks stay with the member that has begun them, and a member that waits in the middle
// of one begins only descendants of it, lest a task waits for something that one below it on the stack holds.
#include "task_inline.h"

#include <new>

#include "abi.h"
#include "depend.h"
#include "ompt/ompt.h"
#include "sync.h"
#include "taskgroup.h"

namespace hadal::omp {

namespace {

// Tasks with a priority that are queued at once; as many as without one.
constexpr uint32_t URGENT_TASKS_BY_MEMBER = Deque<Task>::PLACES;

bool is_below(const Task &task, const Task &ancestor) {
    const Task *at = HRT_LOAD(&task.parent, HRT_RELAXED);
    while (at != nullptr && HRT_LOAD(&at->depth, HRT_RELAXED) > ancestor.depth) {
        at = HRT_LOAD(&at->parent, HRT_RELAXED);
    }
    return at == &ancestor;
}

// The places of a member's queue are made when it queues its first task.
[[gnu::noinline]] void give_places(Member &me) {
    me.deque.give_places(static_cast<Deque<Task>::Places *>(permanent_memory(sizeof(Deque<Task>::Places))));
}

// Takes a task of at least that priority that the member may run.
Task *take_from_inbox(Member &me, int32_t priority) {
    bool may_run_any = me.in_barrier != 0;
    return me.team->inbox.take(priority,
                               [&](const Task &task) { return may_run_any || is_below(task, *me.task); });
}

// Not inlined, as it is rare: tasks that members do not have in queues of their own.
[[gnu::noinline]] void queue_in_inbox(Team &team, Task &task) { team.inbox.push(task); }

// Queues a task where its team's members find it; false if so many are queued there that it had better run at
// once.
bool queue(Member &me, Task &task) {
    if (HRT_LIKELY(task.priority == 0)) {
        return me.deque.push(&task);
    }
    if (me.team->inbox.urgent() >= URGENT_TASKS_BY_MEMBER * me.size) {
        return false;
    }
    queue_in_inbox(*me.team, task);
    return true;
}

// Gives up one's share in a task's memory. The last one frees it, and its share in its parent's.
// Returns whether the counts had one child of the first task left.
bool drop_reference(Thread &thread, Task *task, uint64_t counts) {
    uint64_t before = HRT_FETCH_SUB(&task->counts, counts, HRT_SEQ_CST);
    bool was_last_child = (before & UINT32_MAX) == 1;
    while (before == counts && task->memory_owner != nullptr) {
        Task *parent = task->parent;
        task_memory_give(thread, task);
        task = parent;
        counts = ONE_REFERENCE;
        before = HRT_FETCH_SUB(&task->counts, counts, HRT_ACQ_REL);
    }
    return was_last_child;
}

// A task of the team has ended, for which a member may wait at a barrier.
[[gnu::noinline]] void notify_drainer(const Team &team, uint32_t number) {
    // If this was a thread of another team, the region may be over, and the member without a thread.
    if (Thread *thread = HRT_LOAD(&team.members[number]->thread, HRT_RELAXED);
        thread != nullptr && has_sleepers(team)) {
        open_door(*thread);
    }
}

// A task has ended: code, event and all. `counted`: it was one of its team's and its parent's tasks.
void end(Member &me, Task &task, bool counted) {
    Task *parent = task.parent;
    Member *waiter = parent->runner;
    Team &team = *task.team;
    Thread &thread = *me.thread;
    if (HRT_UNLIKELY(task.dependences != nullptr)) {
        // Of tasks that it has generated; those that have not ended keep their links by themselves.
        dependences_free(task);
    }
    if (HRT_UNLIKELY(task.successors != nullptr)) {
        successors_release(me, task);
    }
    Taskgroup *group = task.group;
    if (!counted) {
        // Its parent has been below it on the stack until now: only what it leaves behind needs that in
        // memory.
        if (HRT_LIKELY(HRT_LOAD(&task.counts, HRT_ACQUIRE) == ONE_REFERENCE)) {
            task_memory_give(thread, &task);
            return;
        }
        HRT_FETCH_ADD(&parent->counts, ONE_REFERENCE, HRT_RELAXED);
        drop_reference(thread, &task, ONE_REFERENCE);
        return;
    }
    if (group != nullptr) {
        // It may be gone as soon as the last task has left it.
        Member *group_waiter = group->waiter;
        if (HRT_FETCH_SUB(&group->unfinished, 1, HRT_SEQ_CST) == 1) {
            notify(*group_waiter->team, *group_waiter);
        }
    }
    bool is_last_child;
    if (HRT_LIKELY(HRT_LOAD(&task.counts, HRT_ACQUIRE) == ONE_REFERENCE)) {
        // It leaves nothing behind that refers to it. Its own share in the parent goes with its place there.
        task_memory_give(thread, &task);
        is_last_child = drop_reference(thread, parent, ONE_CHILD + ONE_REFERENCE);
    } else {
        is_last_child = (HRT_FETCH_SUB(&parent->counts, ONE_CHILD, HRT_SEQ_CST) & UINT32_MAX) == 1;
        drop_reference(thread, &task, ONE_REFERENCE);
    }
    if (is_last_child && waiter != nullptr) {
        notify(*waiter->team, *waiter);
    }
    // Behind this the region may end.
    if (HRT_LIKELY(me.team == &team)) {
        HRT_EXCHANGE(&me.tasks_ended, me.tasks_ended + 1, HRT_SEQ_CST);
    } else {
        HRT_FETCH_ADD(&team.ended_elsewhere, 1, HRT_SEQ_CST);
    }
    if (uint32_t drainer = HRT_LOAD(&team.drainer, HRT_RELAXED); HRT_UNLIKELY(drainer != 0)) {
        notify_drainer(team, drainer - 1);
    }
}

// One of the things that have to happen before a task has ended has happened.
void close_end(Member &me, Task &task, bool counted) {
    if (HRT_LIKELY(!task.is_detachable) || HRT_FETCH_SUB(&task.open_ends, 1, HRT_ACQ_REL) == 1) {
        end(me, task, counted);
    }
}

// Tasks that a cancellation finds before they have begun may be discarded, but need not be.
[[gnu::noinline]] bool is_cancelled(const Task &task) {
    if (task.has_objects) {
        return false;
    }
    if (HRT_LOAD(&task.team->is_cancelled, HRT_RELAXED) != 0) {
        return true;
    }
    const Taskgroup *group = task.group;
    while (group != nullptr && group->is_of_reduction) {
        group = group->outer;
    }
    return group != nullptr && HRT_LOAD(&group->is_cancelled, HRT_RELAXED) != 0;
}

inline bool is_discarded(const Task &task) {
    return HRT_UNLIKELY(settings.cancellation) && is_cancelled(task);
}

template <bool has_tool> [[gnu::always_inline]] inline void run_counted_as(Member &me, Task &task) {
    if (HRT_UNLIKELY(task.needs_mutexes) && !mutexes_take(me, task)) {
        return; // it is ready again when they are free
    }
    Task *before = me.task;
    // Other tasks wait until this one is over, even if it runs inside of a barrier.
    uint32_t in_barrier = me.in_barrier;
    HRT_STORE(&me.in_barrier, 0, HRT_RELAXED);
    Taskgroup *group = task.group;
    task.runner = &me;
    me.task = &task;
    bool is_over = true;
    if (HRT_LIKELY(!is_discarded(task))) {
        if constexpr (has_tool) {
            ompt::task_switch(*before, task);
        }
        is_over = task.run(me, task);
        if constexpr (has_tool) {
            ompt::task_leave(task, *before);
        }
    } else if constexpr (has_tool) {
        ompt::task_discard(task, *before);
    }
    me.task = before;
    HRT_STORE(&me.in_barrier, in_barrier, HRT_RELAXED);
    if (!is_over) {
        return; // an untied task that has queued itself again
    }
    task.group = group;
    if (HRT_UNLIKELY(task.needs_mutexes)) {
        mutexes_give(me, task);
    }
    close_end(me, task, true);
}

OMP_TASK_PATH(2) void run_counted(Member &me, Task &task) {
    if (ompt::is_on()) {
        run_counted_as<true>(me, task);
    } else {
        run_counted_as<false>(me, task);
    }
}

} // namespace

// The part of counting that has to come before anybody can run the task.
[[gnu::always_inline]] static inline void count_created(Member &me, Task &task) {
    note_tasks(me);
    HRT_STORE(&me.tasks_created, me.tasks_created + 1, HRT_RELAXED);
    if (task.group != nullptr) {
        HRT_FETCH_ADD(&task.group->unfinished, 1, HRT_RELAXED);
    }
}

// The other part. The parent, which is the caller, looks at the sum only behind this.
static void count_child(Task &parent) {
    HRT_FETCH_ADD(&parent.counts, ONE_CHILD + ONE_REFERENCE, HRT_SEQ_CST);
}

void task_count(Member &me, Task &task) {
    count_created(me, task);
    count_child(*task.parent);
}

void task_make_ready(Member &me, Task &task) {
    if (HRT_UNLIKELY(!me.deque.has_places())) {
        give_places(me);
    }
    if (HRT_UNLIKELY(me.team != task.team) || !queue(me, task)) {
        queue_in_inbox(*task.team, task);
    }
    HRT_FENCE(HRT_SEQ_CST);
    notify_one(*task.team, me);
}

OMP_TASK_PAGE void task_submit(Member &me, Task &task) {
    if (HRT_UNLIKELY(!me.deque.has_places())) {
        give_places(me);
    }
    Task &parent = *task.parent;
    count_created(me, task);
    bool is_queued = queue(me, task);
    // A full fence behind that, for those that are about to sleep.
    count_child(parent);
    if (HRT_UNLIKELY(!is_queued)) {
        if (settings.many_tasks != NEVER_MANY) {
            run_counted(me, task);
            return;
        }
        queue_in_inbox(*me.team, task);
        HRT_FENCE(HRT_SEQ_CST);
    }
    notify_one(*me.team, me);
}

void task_end_included_slow(Member &me, Task &task) {
    if (task.outlives_code) {
        close_end(me, task, true);
        return;
    }
    if (HRT_UNLIKELY(task.is_detachable) && HRT_FETCH_SUB(&task.open_ends, 1, HRT_ACQ_REL) != 1) {
        // It is not over before its event is fulfilled, and its generator waits for it.
        await_with_tasks(me, [&] { return HRT_LOAD(&task.open_ends, HRT_ACQUIRE) == UINT32_MAX; });
    }
    end(me, task, false);
}

void task_fulfill(Task &task) {
    Member &me = self();
    if (ompt::is_on()) {
        ompt::task_fulfilled(task);
    }
    if (HRT_LOAD(&task.is_included, HRT_RELAXED) && !task.outlives_code) {
        Member *waiter = task.runner;
        if (HRT_FETCH_SUB(&task.open_ends, 1, HRT_ACQ_REL) == 1) {
            HRT_EXCHANGE(&task.open_ends, UINT32_MAX, HRT_SEQ_CST);
            notify(*waiter->team, *waiter);
        }
        return;
    }
    close_end(me, task, true);
}

OMP_TASK_PATH(1) bool task_run_one(Member &me) {
    Team &team = *me.team;
    if (HRT_LIKELY(HRT_LOAD(&team.has_tasks, HRT_RELAXED) == 0)) {
        return false;
    }
    bool may_run_any = me.in_barrier != 0;
    Task *task = nullptr;
    if (HRT_UNLIKELY(settings.max_task_priority != 0) && team.inbox.urgent() != 0) {
        task = take_from_inbox(me, 1);
    }
    if (HRT_LIKELY(task == nullptr)) {
        task = me.deque.pop();
        if (task != nullptr && !may_run_any && !is_below(*task, *me.task)) {
            me.deque.push(task); // there is room: it has just been there
            task = nullptr;
        }
    }
    if (task == nullptr && HRT_UNLIKELY(!team.inbox.is_empty())) {
        task = take_from_inbox(me, 0);
    }
    for (uint32_t step = 0; task == nullptr && step < me.size; step++) {
        Member &victim = *team.members[me.thief_at];
        if (&victim != &me && !victim.deque.is_empty()) {
            task = victim.deque.steal(
                [&](const Task &found) { return may_run_any || is_below(found, *me.task); });
        }
        if (task == nullptr) {
            me.thief_at = me.thief_at + 1 < me.size ? me.thief_at + 1 : 0;
        }
    }
    if (task == nullptr) {
        return false;
    }
    run_counted(me, *task);
    return true;
}

bool task_may_find(const Member &me) {
    const Team &team = *me.team;
    if (HRT_LOAD(&team.has_tasks, HRT_RELAXED) == 0 || me.in_barrier == 0) {
        return false;
    }
    for (uint32_t number = 0; number < me.size; number++) {
        if (!team.members[number]->deque.is_empty()) {
            return true;
        }
    }
    return !team.inbox.is_empty();
}

void taskwait(Member &me) {
    Task &task = *me.task;
    if ((HRT_LOAD(&task.counts, HRT_ACQUIRE) & UINT32_MAX) != 0) {
        await_with_tasks(me, [&] { return (HRT_LOAD(&task.counts, HRT_ACQUIRE) & UINT32_MAX) == 0; });
    }
}

void taskyield(Member &me) {
    if (ompt::is_on()) {
        ompt::task_yields(*me.task, true);
        task_run_one(me);
        ompt::task_yields(*me.task, false);
        return;
    }
    task_run_one(me);
}

} // namespace hadal::omp
