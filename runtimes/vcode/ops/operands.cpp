// SPDX-License-Identifier: Apache-2.0 OR MIT
// The checks of operands that come before every operation.
#include "operands.h"

#include "../core/ranges.h"

namespace hadal::vcode {

bool need(Machine &machine, size_t cells) {
    if (HRT_LIKELY(machine.depth() >= cells)) {
        return true;
    }
    return machine.error("it takes %zu cells, but the stack has only %zu", cells, machine.depth());
}

bool want(Machine &machine, Cell &cell, Type type, const char *what) {
    if (HRT_UNLIKELY(cell.type != type)) {
        return machine.error("%s is %s, not %s", what, type_name(cell.type), type_name(type));
    }
    if (type == Type::Segdes || type == Type::Pair) {
        return true;
    }
    return HRT_LIKELY(force(cell)) || machine.out_of_memory();
}

bool want_indices(Machine &machine, Cell &indices, bool may_be_ranges) {
    return (may_be_ranges && indices.type == Type::Int && is_ranges(indices)) ||
           want(machine, indices, Type::Int, "the index vector");
}

bool agree(Machine &machine, const Cell &one, const Cell &other) {
    if (HRT_LIKELY(one.length == other.length)) {
        return true;
    }
    return machine.error("vectors of different lengths: %u and %u", one.length, other.length);
}

bool compatible(Machine &machine, const Cell &vector, const Cell &descriptor) {
    if (HRT_LIKELY(vector.length == total_of(descriptor))) {
        return true;
    }
    return machine.error("a vector of %u elements with a descriptor of %u elements", vector.length,
                         total_of(descriptor));
}

bool by_segment(Machine &machine, const Cell &vector, const Cell &descriptor) {
    if (HRT_LIKELY(vector.length == descriptor.length)) {
        return true;
    }
    return machine.error("a vector of %u elements with a descriptor of %u segments", vector.length,
                         descriptor.length);
}

bool pair_up(Machine &machine, const Cell &one, const Cell &other) {
    if (HRT_LIKELY(one.length == other.length)) {
        return true;
    }
    return machine.error("descriptors with %u and %u segments", one.length, other.length);
}

} // namespace hadal::vcode
