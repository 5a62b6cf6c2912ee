// SPDX-License-Identifier: Apache-2.0 OR MIT
// Computing a plan, strip by strip.
#include "blocks.h"
#include "nontemporal.h"
#include "plan.h"
#include "ranges.h"

namespace hadal::vcode {

namespace {

constexpr uint64_t STRIP_BYTES = Plan::STRIP * sizeof(Float);
// Behind the strips of the steps is room for a block of results.
constexpr uint64_t MEMBER_BYTES = STRIP_BYTES * (LAZY_NODES + 1) + BLOCK * sizeof(Float);

char *strips;
uint32_t strips_members;

template <typename T> void fill(void *to, uint64_t word, uint64_t count) {
    T value;
    memcpy(&value, &word, sizeof value);
    for (uint64_t index = 0; index < count; index++) {
        static_cast<T *>(to)[index] = value;
    }
}

void fill_constant(Type type, void *to, uint64_t word, uint64_t count) {
    if (type == Type::Float) {
        fill<Float>(to, word, count);
    } else if (type == Type::Bool) {
        fill<Bool>(to, word, count);
    } else {
        fill<Int>(to, word, count);
    }
}

void fill_index(void *to, const Pending &pending, uint64_t from, uint64_t count) {
    uint32_t step = static_cast<uint32_t>(pending.step);
    uint32_t value = static_cast<uint32_t>(pending.start) + step * static_cast<uint32_t>(from);
    for (uint64_t index = 0; index < count; index++) {
        static_cast<Int *>(to)[index] = static_cast<Int>(value + step * static_cast<uint32_t>(index));
    }
}

} // namespace

bool strips_ready(uint64_t length) {
    uint32_t members = gang_for(length);
    if (HRT_UNLIKELY(members > strips_members)) {
        give_array(strips);
        strips = static_cast<char *>(take_array(members * MEMBER_BYTES));
        strips_members = strips == nullptr ? 0 : members;
    }
    return strips != nullptr;
}

const void *Plan::run(uint32_t member, uint64_t from, uint64_t to) const {
    char *own = strips + member * MEMBER_BYTES, *result = own + STRIP_BYTES * (LAZY_NODES + 1);
    auto strip = [=](uint8_t slot) { return own + slot * STRIP_BYTES; };
    for (uint32_t index = 0; index < count; index++) {
        const Step &step = steps[index];
        if (step.source == Source::Constant && step.output == nullptr) {
            fill_constant(step.type, strip(step.slot), step.pending->word, STRIP);
        }
    }
    for (uint64_t at = from; at < to; at += STRIP) {
        uint64_t size = at + STRIP < to ? STRIP : to - at;
        for (uint32_t index = 0; index < count; index++) {
            const Step &step = steps[index];
            if (step.is_fused) {
                continue;
            }
            void *into = strip(step.slot);
            uint64_t bytes = element_bytes(step.type);
            bool root = index + 1 == count;
            if (root && past_caches) {
                into = result;
            } else if (step.output != nullptr) {
                into = static_cast<char *>(step.output) + at * bytes;
            } else if (root && !root_stored) {
                into = result + (at - from) * bytes;
                if (step.source == Source::Constant) {
                    fill_constant(step.type, into, step.pending->word, size);
                }
            }
            if (step.source == Source::Index) {
                fill_index(into, *step.pending, at, size);
            } else if (step.source == Source::Ranges) {
                Ranges(step.cell).write(static_cast<Int *>(into), at, at + size);
            } else if (step.source == Source::Constant) {
                if (step.output != nullptr) {
                    fill_constant(step.type, into, step.pending->word, size);
                }
            } else {
                const void *data[3] = {nullptr, nullptr, nullptr};
                for (uint32_t number = 0; number < step.arity; number++) {
                    const Operand &operand = step.operands[number];
                    data[number] = operand.data == nullptr
                                       ? strip(operand.slot)
                                       : static_cast<const char *>(operand.data) + at * operand.bytes;
                }
                step.kernel(into, data[0], data[1], data[2], size);
            }
            if (root && past_caches) {
                copy_nontemporal(static_cast<char *>(step.output) + at * bytes, result, size * bytes);
            }
        }
    }
    if (past_caches) {
        fence_nontemporal();
    }
    return result;
}

} // namespace hadal::vcode
