// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reads gcc's arrays of dependences. There are two forms: one with numbers of `out` and all others, which are
// `in`, and one that begins with zero, with a number for each kind and objects (omp_depend_t) behind.
#include "depend.h"

#include <cstdlib>

namespace hadal::omp::gomp {

namespace {

// An omp_depend_t. Newer compilers pass kinds that have no number of their own this way, too.
struct DependObject {
    void *address;
    uintptr_t kind;
};

DependKind kind_of(const DependObject &object) {
    switch (object.kind) {
    case 1:
        return DependKind::In;
    case 2: // out
    case 3: // inout
        return DependKind::Out;
    case 4:
        return DependKind::MutexInOutSet;
    case 5:
        return DependKind::InOutSet;
    default:
        fatal("depend: an omp_depend_t is not initialised, or destroyed (kind %lu)", object.kind);
    }
}

uint32_t number_of(void *word) { return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(word)); }

} // namespace

Depend::Depend(void *const *array) {
    if (array == nullptr) {
        return;
    }
    bool is_long = array[0] == nullptr;
    uint32_t total = number_of(array[is_long ? 1 : 0]);
    if (total > FEW) {
        items = static_cast<Dependence *>(malloc(total * sizeof(Dependence)));
        if (items == nullptr) {
            fatal("no memory for %u dependences", total);
        }
    }
    if (!is_long) {
        uint32_t outs = number_of(array[1]);
        for (uint32_t index = 0; index < total; index++) {
            add(array[2 + index], index < outs ? DependKind::Out : DependKind::In);
        }
        return;
    }
    uint32_t outs = number_of(array[2]), mutexes = outs + number_of(array[3]),
             ins = mutexes + number_of(array[4]);
    for (uint32_t index = 0; index < total; index++) {
        void *word = array[5 + index];
        if (index < ins) {
            add(word, index < outs      ? DependKind::Out
                      : index < mutexes ? DependKind::MutexInOutSet
                                        : DependKind::In);
        } else {
            const DependObject &object = *static_cast<DependObject *>(word);
            add(object.address, kind_of(object));
        }
    }
}

Depend::~Depend() {
    if (items != few) {
        free(items);
    }
}

void Depend::add(void *address, DependKind kind) {
    // Newer compilers say omp_all_memory by a null address.
    if (address == nullptr && kind == DependKind::Out) {
        kind = DependKind::AllMemory;
    }
    items[item_count++] = {reinterpret_cast<uintptr_t>(address), kind};
}

void Depend::wait(Member &me) {
    if (item_count == 0) {
        return;
    }
    for (uint32_t index = 0; index < item_count; index++) {
        // What excludes its like has to wait for them here, since it is not queued.
        if (items[index].kind == DependKind::MutexInOutSet) {
            items[index].kind = DependKind::Out;
        }
    }
    taskwait_dependent(me, items, item_count);
}

} // namespace hadal::omp::gomp
