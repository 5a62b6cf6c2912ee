// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reductions that tasks take part in. A taskgroup has a copy of each list item for each member, which is
// initialised when a task of that member asks for it first, and combined at the end of the group.
//
// reduction(task, ...) of a parallel or worksharing construct is such a group of each member by itself: its
// tasks add to the member's private copy, and the construct's own reduction does the rest.
#include "task_reduction.h"

#include <cstdlib>
#include <new>

#include "core/reduction.h"
#include "core/taskgroup.h"
#include "core/team.h"
#include "ident.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

namespace {

constexpr size_t LINE = 64;

// In front of the copies of a member there is a byte for each item: whether it is initialised.
struct KmpScope : ReductionScope {
    void *allocation = nullptr;
    KmpReductionItem *descriptions = nullptr;

    char *copy_of(uint32_t member, const ReductionItem &item) const {
        return memory + member * stride + item.offset;
    }
    bool &is_initialised(uint32_t member, const ReductionItem &item) const {
        size_t index = static_cast<size_t>(&item - items);
        return *reinterpret_cast<bool *>(memory + member * stride + index);
    }
};

size_t round_up(size_t bytes, size_t align) { return (bytes + align - 1) / align * align; }

KmpScope &new_scope(uint32_t members, uint32_t count, const KmpReductionItem *list) {
    size_t item_bytes = sizeof(ReductionItem) + sizeof(KmpReductionItem);
    void *block = malloc(sizeof(KmpScope) + count * item_bytes);
    if (block == nullptr) {
        fatal("there is no memory for a task reduction of %u variables", count);
    }
    KmpScope &scope = *::new (block) KmpScope;
    scope.members = members;
    scope.item_count = count;
    scope.items = reinterpret_cast<ReductionItem *>(&scope + 1);
    scope.descriptions = reinterpret_cast<KmpReductionItem *>(scope.items + count);
    size_t bytes = round_up(count, LINE);
    for (uint32_t index = 0; index < count; index++) {
        scope.descriptions[index] = list[index];
        ReductionItem &item = *::new (&scope.items[index]) ReductionItem;
        item.original = reinterpret_cast<uintptr_t>(list[index].shared);
        item.bytes = list[index].bytes;
        item.offset = bytes;
        item.front_end = &scope.descriptions[index];
        // Lines of its own, also because clang 14 gives the size of one element for sections of an array.
        bytes += round_up(list[index].bytes, LINE);
    }
    scope.stride = bytes;
    scope.allocation = calloc(members * scope.stride + LINE, 1);
    if (scope.allocation == nullptr) {
        fatal("there is no memory for %u copies of %zu bytes of a task reduction", members, scope.stride);
    }
    scope.memory = reinterpret_cast<char *>(round_up(reinterpret_cast<uintptr_t>(scope.allocation), LINE));
    return scope;
}

void *add_scope(uint32_t count, const KmpReductionItem *list) {
    Member &me = self();
    Taskgroup *group = me.task->group;
    if (group == nullptr) {
        fatal("a task reduction begins outside of all taskgroups");
    }
    KmpScope &scope = new_scope(me.size, count, list);
    scope.outer = group->reductions;
    group->reductions = &scope;
    return &scope;
}

// Of a region or a worksharing construct.
void begin_reduction_group(Member &me) {
    taskgroup_push(me);
    me.task->group->is_of_reduction = true;
}

// The tasks are over: adds all copies to what the program sees.
void finish(KmpScope &scope) {
    for (uint32_t index = 0; index < scope.item_count; index++) {
        const ReductionItem &item = scope.items[index];
        const KmpReductionItem &description = scope.descriptions[index];
        for (uint32_t member = 0; member < scope.members; member++) {
            if (!scope.is_initialised(member, item)) {
                continue;
            }
            char *copy = scope.copy_of(member, item);
            description.combine(description.shared, copy);
            if (description.finish != nullptr) {
                description.finish(copy);
            }
        }
    }
    free(scope.allocation);
    free(&scope);
}

} // namespace

void hadal::omp::kmpc::end_taskgroup(Member &me) {
    Taskgroup *group = me.task->group;
    ReductionScope *scope = nullptr, *outer = nullptr;
    if (group != nullptr) {
        scope = group->reductions;
        outer = group->outer != nullptr ? group->outer->reductions : nullptr;
    }
    taskgroup_pop(me);
    while (scope != outer) {
        ReductionScope *next = scope->outer;
        finish(static_cast<KmpScope &>(*scope));
        scope = next;
    }
}

// Returns what the tasks of the group pass to the function below.
OMP_EXPORT void *__kmpc_taskred_init(Gtid, int32_t count, const KmpReductionItem *list) {
    return add_scope(static_cast<uint32_t>(count), list);
}

// The calling thread's copy of a list item, which may also be named by the address of a copy.
OMP_EXPORT void *__kmpc_task_reduction_get_th_data(Gtid, void *scope, void *item) {
    const Member &me = self();
    ReductionScope *innermost = static_cast<ReductionScope *>(scope), *found;
    if (innermost == nullptr && me.task->group != nullptr) {
        innermost = me.task->group->reductions;
    }
    ReductionItem *match = reduction_find(innermost, reinterpret_cast<uintptr_t>(item), &found);
    if (match == nullptr) {
        fatal("in_reduction: no taskgroup around the task reduces the variable");
    }
    if (me.number >= found->members) {
        fatal("in_reduction: the task is of another team than the taskgroup");
    }
    const KmpScope &own = static_cast<const KmpScope &>(*found);
    const KmpReductionItem &description = *static_cast<const KmpReductionItem *>(match->front_end);
    char *copy = own.copy_of(me.number, *match);
    bool &is_initialised = own.is_initialised(me.number, *match);
    if (!is_initialised) {
        if (description.initialise != nullptr) {
            description.initialise(copy, description.original);
        }
        is_initialised = true;
    }
    return copy;
}

OMP_EXPORT void *__kmpc_taskred_modifier_init(const Ident *, Gtid, int32_t, int32_t count,
                                              const KmpReductionItem *list) {
    begin_reduction_group(self());
    return add_scope(static_cast<uint32_t>(count), list);
}

OMP_EXPORT void __kmpc_task_reduction_modifier_fini(const Ident *, Gtid, int32_t) { end_taskgroup(self()); }

// The same from compilers up to clang 10, whose items do not say what is original: an initialiser that needs
// it knows it by itself.
namespace {

struct OldItem {
    void *shared;
    size_t bytes;
    void (*initialise)(void *copy, void *original);
    void (*finish)(void *copy);
    void (*combine)(void *into, void *from);
    uint32_t flags;
};
static_assert(sizeof(OldItem) == 48);

void *add_old_scope(int32_t count, const OldItem *list) {
    KmpReductionItem *items =
        static_cast<KmpReductionItem *>(calloc(static_cast<size_t>(count), sizeof *items));
    if (items == nullptr) {
        fatal("there is no memory for a task reduction of %d variables", count);
    }
    for (int32_t index = 0; index < count; index++) {
        const OldItem &old = list[index];
        items[index] = {old.shared, old.shared,  old.bytes, old.initialise,
                        old.finish, old.combine, old.flags};
    }
    void *scope = add_scope(static_cast<uint32_t>(count), items);
    free(items);
    return scope;
}

} // namespace

OMP_EXPORT void *__kmpc_task_reduction_init(Gtid, int32_t count, const OldItem *list) {
    return add_old_scope(count, list);
}

OMP_EXPORT void *__kmpc_task_reduction_modifier_init(const Ident *, Gtid, int32_t, int32_t count,
                                                     const OldItem *list) {
    begin_reduction_group(self());
    return add_old_scope(count, list);
}
