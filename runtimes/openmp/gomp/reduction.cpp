// SPDX-License-Identifier: Apache-2.0 OR MIT
// Task reductions. The compiler's code initialises a copy at its first use and combines all copies at the
// end; here is who finds which copy. A copy whose bytes are zero is one that nobody has used.
#include "reduction.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "core/allocator.h"
#include "core/taskgroup.h"

namespace hadal::omp::gomp {

namespace {

// Words of a descriptor.
constexpr uint32_t COUNT = 0, STRIDE = 1, ALIGN_THEN_MEMORY = 2, ALLOCATOR = 3, NEXT = 4, OURS = 5, END = 6,
                   ITEMS = 7, ITEM_WORDS = 3;
constexpr uintptr_t NO_ALLOCATOR = UINTPTR_MAX;

// A scope and its items. What the members of a worksharing construct share is freed by the last.
struct Registered {
    ReductionScope scope;
    uintptr_t allocator;
    uint32_t users; // who have not left yet
    ReductionItem items[];
};

// What a member of a worksharing construct sees of the shared scope: what is around it may be another one for
// each of them.
struct View {
    ReductionScope scope;
    Registered *registered;
};

Registered *registered_of(const uintptr_t *descriptor) {
    return reinterpret_cast<Registered *>(descriptor[OURS]);
}

// From an item to the next there is no other; the order of their offsets is the compiler's.
size_t bytes_of(const uintptr_t *descriptor, uint32_t index) {
    size_t offset = descriptor[ITEMS + index * ITEM_WORDS + 1], end = descriptor[STRIDE];
    for (uint32_t other = 0; other < descriptor[COUNT]; other++) {
        size_t begin = descriptor[ITEMS + other * ITEM_WORDS + 1];
        end = begin > offset && begin < end ? begin : end;
    }
    return end - offset;
}

char *zeroed(uintptr_t allocator, size_t align, size_t bytes) {
    void *memory = nullptr;
    align = align > 64 ? align : 64;
    if (allocator != NO_ALLOCATOR) {
        memory = allocate(allocator, align, bytes);
    } else if (posix_memalign(&memory, align, bytes) != 0) {
        memory = nullptr;
    }
    if (memory == nullptr) {
        fatal("there is no memory for %zu bytes of private copies of a reduction", bytes);
    }
    memset(memory, 0, bytes);
    return static_cast<char *>(memory);
}

Registered *register_one(Member &me, const uintptr_t *descriptor) {
    uint32_t count = static_cast<uint32_t>(descriptor[COUNT]);
    void *block = malloc(sizeof(Registered) + count * sizeof(ReductionItem));
    if (block == nullptr) {
        fatal("there is no memory for a reduction of %u items", count);
    }
    Registered *made = ::new (block) Registered;
    made->allocator = descriptor[ALLOCATOR];
    made->users = me.size;
    size_t bytes = descriptor[STRIDE] * me.size;
    made->scope.memory = zeroed(made->allocator, descriptor[ALIGN_THEN_MEMORY], bytes);
    made->scope.stride = descriptor[STRIDE];
    made->scope.members = me.size;
    made->scope.item_count = count;
    made->scope.items = made->items;
    for (uint32_t index = 0; index < count; index++) {
        ReductionItem &item = *::new (&made->items[index]) ReductionItem;
        item.original = descriptor[ITEMS + index * ITEM_WORDS];
        item.offset = descriptor[ITEMS + index * ITEM_WORDS + 1];
        item.bytes = bytes_of(descriptor, index);
    }
    return made;
}

void fill_in(uintptr_t *descriptor, const ReductionScope &scope) {
    descriptor[ALIGN_THEN_MEMORY] = reinterpret_cast<uintptr_t>(scope.memory);
    descriptor[OURS] = reinterpret_cast<uintptr_t>(&scope);
    descriptor[END] = descriptor[ALIGN_THEN_MEMORY] + scope.stride * scope.members;
}

void free_one(Registered *registered) {
    if (registered->allocator != NO_ALLOCATOR) {
        deallocate(registered->scope.memory);
    } else {
        free(registered->scope.memory);
    }
    free(registered);
}

uintptr_t *next_of(const uintptr_t *descriptor) { return reinterpret_cast<uintptr_t *>(descriptor[NEXT]); }

ReductionScope *current_scope(const Member &me) {
    return me.task->group != nullptr ? me.task->group->reductions : nullptr;
}

} // namespace

static_assert(offsetof(Registered, scope) == 0 && offsetof(View, scope) == 0);

static ReductionScope *register_all(Member &me, uintptr_t *descriptor, ReductionScope *outer) {
    ReductionScope *first = nullptr, **link = &first;
    for (uintptr_t *at = descriptor; at != nullptr; at = next_of(at)) {
        Registered *made = register_one(me, at);
        fill_in(at, made->scope);
        *link = &made->scope;
        link = &made->scope.outer;
    }
    *link = outer;
    return first;
}

ReductionScope *reductions_new(Member &me, uintptr_t *descriptor) {
    return register_all(me, descriptor, current_scope(me));
}

void reductions_free(uintptr_t *descriptor) {
    for (uintptr_t *at = descriptor; at != nullptr; at = next_of(at)) {
        free_one(registered_of(at));
    }
}

void reductions_share(Member &me, uintptr_t *descriptor) {
    me.workshare->reductions = register_all(me, descriptor, nullptr);
}

void reductions_join(Member &me, uintptr_t *descriptor) {
    ReductionScope *shared = static_cast<ReductionScope *>(me.workshare->reductions);
    ReductionScope *first = nullptr, **link = &first;
    for (uintptr_t *at = descriptor; at != nullptr; at = next_of(at)) {
        fill_in(at, *shared);
        void *memory = malloc(sizeof(View));
        if (memory == nullptr) {
            fatal("there is no memory for a reduction");
        }
        View *view = ::new (memory) View{*shared, reinterpret_cast<Registered *>(shared)};
        *link = &view->scope;
        link = &view->scope.outer;
        shared = shared->outer;
    }
    *link = current_scope(me);
    taskgroup_push(me);
    me.task->group->is_of_reduction = true;
    me.task->group->reductions = first;
}

} // namespace hadal::omp::gomp

using namespace hadal::omp;
using namespace hadal::omp::gomp;

// The compiler has begun the taskgroup.
OMP_EXPORT void GOMP_taskgroup_reduction_register(uintptr_t *descriptor) {
    Member &me = self();
    if (me.task->group == nullptr) {
        fatal("a task reduction is outside of all taskgroups");
    }
    me.task->group->reductions = reductions_new(me, descriptor);
}

OMP_EXPORT void GOMP_taskgroup_reduction_unregister(uintptr_t *descriptor) { reductions_free(descriptor); }

// The end of a loop, sections or scope: the primary member has combined the copies, which all have to see.
OMP_EXPORT void GOMP_workshare_task_reduction_unregister(bool is_cancelled) {
    Member &me = self();
    ReductionScope *scope = current_scope(me);
    taskgroup_pop(me);
    ReductionScope *outer = current_scope(me);
    if (!is_cancelled) {
        barrier(me);
    }
    while (scope != outer && scope != nullptr) {
        View *view = reinterpret_cast<View *>(scope);
        Registered *registered = view->registered;
        scope = scope->outer;
        free(view);
        if (HRT_FETCH_SUB(&registered->users, 1, HRT_ACQ_REL) == 1) {
            free_one(registered);
        }
    }
}

// For tasks with `in_reduction`: each pointer is to an original, or to somebody's copy of it, and gets that
// of the calling member. For the first `original_count` of them the original's address goes behind all.
OMP_EXPORT void GOMP_task_reduction_remap(size_t count, size_t original_count, void **pointers) {
    Member &me = self();
    ReductionScope *innermost = current_scope(me), *scope = nullptr;
    for (size_t index = 0; index < count; index++) {
        uintptr_t address = reinterpret_cast<uintptr_t>(pointers[index]);
        const ReductionItem *item = reduction_find(innermost, address, &scope);
        if (item == nullptr) {
            fatal("a task takes part in a reduction of %p that no taskgroup or region around it has",
                  pointers[index]);
        }
        if (me.number >= scope->members) {
            fatal("a task of another team takes part in a reduction");
        }
        pointers[index] = scope->memory + me.number * scope->stride + item->offset;
        if (index < original_count) {
            pointers[count + index] = reinterpret_cast<void *>(item->original);
        }
    }
}

namespace {

struct ParallelReductions {
    void *data;
    unsigned members;
};

// The members are known when they run: the first one makes the copies.
void run_reductions(Member &me, const Region &region) {
    ParallelReductions &parallel = *static_cast<ParallelReductions *>(region.data);
    if (workshare_enter(me)) {
        reductions_share(me, *static_cast<uintptr_t **>(parallel.data));
        parallel.members = me.size;
        workshare_publish(me);
    }
    ReductionScope *scope = static_cast<ReductionScope *>(me.workshare->reductions);
    workshare_leave(me);
    Taskgroup group;
    taskgroup_begin(me, group);
    group.is_of_reduction = true;
    group.reductions = scope;
    call(region.code, parallel.data);
    taskgroup_end(me, group);
}

} // namespace

// The first word of the data points to the descriptor. Returns how many members there were; the caller
// combines their copies, and frees them with GOMP_taskgroup_reduction_unregister.
OMP_EXPORT unsigned GOMP_parallel_reductions(Function function, void *data, unsigned threads,
                                             unsigned flags) {
    ParallelReductions parallel = {data, 0};
    Region region;
    region.run = run_reductions;
    region.code = code_of(function);
    region.data = &parallel;
    fork(self(), region, threads_of(threads), bind_of(flags));
    return parallel.members;
}
