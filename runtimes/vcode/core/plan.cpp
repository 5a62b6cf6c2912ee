// SPDX-License-Identifier: Apache-2.0 OR MIT
// Which operations run in which order on a strip, and where their results are.
#include "plan.h"

#include "../ops/fused.h"
#include "memory.h"
#include "nontemporal.h"

namespace hadal::vcode {

uint32_t Plan::find(const Block *block) const {
    uint32_t index = 0;
    while (index < count && steps[index].cell.block != block) {
        index++;
    }
    return index;
}

// Operands before what needs them. As deep as operations may hang together.
uint32_t Plan::visit(const Cell &cell) {
    uint32_t found = find(cell.block);
    if (found < count) {
        return found;
    }
    const Pending &pending = *cell.block->pending;
    Step step{};
    // Those of ranges are no vectors of this length.
    uint8_t arity = pending.source == Source::Operation ? pending.arity : 0;
    for (uint32_t index = 0; index < arity; index++) {
        const Cell &operand = pending.operands[index];
        Operand &made = step.operands[index];
        made.bytes = static_cast<uint8_t>(element_bytes(operand.type));
        if (is_pending(operand)) {
            made.slot = static_cast<uint8_t>(visit(operand)); // the number of the step, for now
            steps[made.slot].uses++;
        } else {
            made.data = data_of(operand);
        }
    }
    step.source = pending.source;
    step.kernel = pending.operation == nullptr ? nullptr : kernel_of(*pending.operation);
    step.type = cell.type;
    step.arity = arity;
    step.pending = &pending;
    step.cell = cell;
    steps[count] = step;
    return count++;
}

// The root may take over the memory of an operand that nobody else needs: element by element, each has been
// read when its place is written.
void Plan::reuse_operand() {
    Step &root = steps[count - 1];
    for (uint32_t index = 0; index < count; index++) {
        for (uint32_t number = 0; number < steps[index].arity; number++) {
            const Cell &operand = steps[index].pending->operands[number];
            if (!operand.in_block || operand.block->data == nullptr || operand.block->references != 1 ||
                operand.block->data_class == DATA_INSIDE ||
                element_bytes(operand.type) != element_bytes(root.type)) {
                continue;
            }
            reused = operand;
            root.output = operand.block->data;
            root.data_class = operand.block->data_class;
            return;
        }
    }
}

bool Plan::make_outputs(bool stored) {
    const Step &last = steps[count - 1];
    root_stored = stored;
    if (stored) {
        reuse_operand();
        past_caches = last.output == nullptr &&
                      nontemporal_pays(static_cast<uint64_t>(last.cell.length) * element_bytes(last.type));
    }
    for (uint32_t index = 0; index < count; index++) {
        Step &step = steps[index];
        bool root = index + 1 == count;
        // Ranges that others need as well are written anew for them: in memory they would be no ranges any
        // more.
        if (step.source == Source::Ranges || step.output != nullptr ||
            (root ? !stored : step.cell.block->references <= step.uses)) {
            continue;
        }
        step.output =
            take(static_cast<uint64_t>(step.cell.length) * element_bytes(step.type), step.data_class);
        if (step.output == nullptr) {
            for (uint32_t made = 0; made < index; made++) {
                if (steps[made].output != nullptr) {
                    give(steps[made].output, steps[made].data_class);
                }
            }
            return false;
        }
    }
    return true;
}

// Lets a step compute what it needs of one operand, where nobody else needs that.
void Plan::fuse() {
    for (uint32_t index = 0; index < count; index++) {
        Step &step = steps[index];
        if (step.source != Source::Operation || step.arity != 2) {
            continue;
        }
        for (uint32_t number = 0; number < 2; number++) {
            if (step.operands[number].data != nullptr) {
                continue;
            }
            Step &first = steps[step.operands[number].slot];
            if (first.source != Source::Operation || first.arity != 2 || first.uses != 1 ||
                first.output != nullptr) {
                continue;
            }
            Kernel kernel = fused_kernel(*first.pending->operation, *step.pending->operation, number == 0);
            if (kernel != nullptr) {
                step.kernel = kernel;
                step.operands[2] = step.operands[1 - number];
                step.operands[0] = first.operands[0];
                step.operands[1] = first.operands[1];
                step.arity = 3;
                first.is_fused = true;
                first.arity = 0;
                break;
            }
        }
    }
}

// Strips for the results that are not in memory. A constant has one of its own, which is filled only once.
void Plan::place_strips() {
    bool busy[LAZY_NODES + 1] = {};
    uint8_t constants = 0;
    for (uint32_t index = 0; index < count; index++) {
        if (steps[index].source == Source::Constant && steps[index].output == nullptr) {
            steps[index].slot = constants;
            busy[constants++] = true;
        }
    }
    for (uint32_t index = 0; index < count; index++) {
        steps[index].last_use = static_cast<uint16_t>(index);
        for (uint32_t number = 0; number < steps[index].arity; number++) {
            if (steps[index].operands[number].data == nullptr) {
                steps[steps[index].operands[number].slot].last_use = static_cast<uint16_t>(index);
            }
        }
    }
    for (uint32_t index = 0; index < count; index++) {
        Step &step = steps[index];
        if (step.output == nullptr && step.source != Source::Constant && !step.is_fused) {
            step.slot = 0;
            while (busy[step.slot]) {
                step.slot++;
            }
            busy[step.slot] = true;
        }
        for (uint32_t number = 0; number < step.arity; number++) {
            Operand &operand = step.operands[number];
            if (operand.data == nullptr) {
                const Step &from = steps[operand.slot];
                if (from.output != nullptr) {
                    operand.data = from.output;
                } else {
                    if (from.last_use == index && from.source != Source::Constant) {
                        busy[from.slot] = false;
                    }
                    operand.slot = from.slot;
                }
            }
        }
    }
}

bool Plan::make(Cell &root, bool stored) {
    visit(root);
    if (!make_outputs(stored)) {
        return false;
    }
    fuse();
    place_strips();
    return true;
}

void Plan::finish() {
    if (reused.head != 0) {
        reused.block->data = nullptr; // it is the root's now
        reused.block->pending = nullptr;
    }
    Pending *done[LAZY_NODES + 1];
    uint32_t count_done = 0;
    for (uint32_t index = 0; index < count; index++) {
        const Step &step = steps[index];
        if (step.output != nullptr) {
            Block *block = step.cell.block;
            done[count_done++] = block->pending;
            block->data = step.output;
            block->data_class = step.data_class;
            block->bytes = class_bytes(step.data_class);
        }
    }
    // Only now: what is dropped here may be what another one refers to.
    for (uint32_t index = 0; index < count_done; index++) {
        pending_drop(done[index]);
    }
}

} // namespace hadal::vcode
