// SPDX-License-Identifier: Apache-2.0 OR MIT
// Dependences between tasks, and between iterations of loop nests.
#include <cstdlib>

#include "events.h"

namespace hadal::omp::ompt {

namespace {

enum Kind : int { IN = 1, INOUT = 3, MUTEXINOUTSET = 4, SOURCE = 5, SINK = 6, INOUTSET = 7, ALL_MEMORY = 9 };

int kind_of(DependKind kind) {
    switch (kind) {
    case DependKind::In:
        return IN;
    case DependKind::MutexInOutSet:
        return MUTEXINOUTSET;
    case DependKind::InOutSet:
        return INOUTSET;
    case DependKind::AllMemory:
        return ALL_MEMORY;
    default:
        return INOUT; // compilers do not tell `out` from it
    }
}

// Room for a list on the stack, if it is short.
class Items {
  public:
    explicit Items(uint32_t count) {
        if (count > FEW) {
            items = static_cast<DependenceItem *>(malloc(count * sizeof(DependenceItem)));
            if (items == nullptr) {
                fatal("there is no memory for %u dependences", count);
            }
        }
    }
    ~Items() {
        if (items != few) {
            free(items);
        }
    }
    Items(const Items &) = delete;
    Items &operator=(const Items &) = delete;

    DependenceItem &operator[](uint32_t index) { return items[index]; }
    const DependenceItem *begin() const { return items; }

  private:
    static constexpr uint32_t FEW = 16;
    DependenceItem few[FEW];
    DependenceItem *items = few;
};

void say_dependences(Data *task, const Items &items, uint32_t count) {
    say<void(Data *, const DependenceItem *, int)>(Event::Dependences, task, items.begin(),
                                                   static_cast<int>(count));
}

} // namespace

void dependences(Task &task, const Dependence *list, uint32_t count) {
    dependences(tool_of(task), list, count);
}

void dependences(TaskTool &task, const Dependence *list, uint32_t count) {
    if (!is_wanted(Event::Dependences)) {
        return;
    }
    Items items(count);
    for (uint32_t index = 0; index < count; index++) {
        items[index].variable.value = list[index].address;
        items[index].kind = kind_of(list[index].kind);
    }
    say_dependences(&task.data, items, count);
}

void dependence_pair(Task &before, Task &after) {
    TaskTool *tool = after.is_explicit ? &tool_of(after) : waiting != nullptr ? &waiting->tool : nullptr;
    if (tool == nullptr) {
        return;
    }
    say<void(Data *, Data *)>(Event::TaskDependence, &tool_of(before).data, &tool->data);
}

void doacross(Member &me, const uint64_t *vector, uint32_t dimensions, bool is_sink) {
    if (!is_wanted(Event::Dependences)) {
        return;
    }
    Items items(dimensions);
    for (uint32_t index = 0; index < dimensions; index++) {
        items[index].variable.value = vector[index];
        items[index].kind = is_sink ? SINK : SOURCE;
    }
    say_dependences(&tool_of(*me.task).data, items, dimensions);
}

} // namespace hadal::omp::ompt
