// SPDX-License-Identifier: Apache-2.0 OR MIT
// Finding list items of task reductions.
#include "reduction.h"

namespace hadal::omp {

namespace {

// Whether an address is that of the item, or in a copy of it.
bool is_item(const ReductionScope &scope, const ReductionItem &item, uintptr_t address) {
    if (address == item.original) {
        return true;
    }
    uintptr_t base = reinterpret_cast<uintptr_t>(scope.memory);
    if (address < base || address - base >= scope.stride * scope.members) {
        return false;
    }
    size_t offset = (address - base) % scope.stride;
    return offset >= item.offset && offset < item.offset + item.bytes;
}

} // namespace

ReductionItem *reduction_find(ReductionScope *scope, uintptr_t address, ReductionScope **found) {
    for (; scope != nullptr; scope = scope->outer) {
        for (uint32_t index = 0; index < scope->item_count; index++) {
            if (is_item(*scope, scope->items[index], address)) {
                *found = scope;
                return &scope->items[index];
            }
        }
    }
    return nullptr;
}

} // namespace hadal::omp
