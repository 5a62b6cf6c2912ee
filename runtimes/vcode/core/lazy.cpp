// SPDX-License-Identifier: Apache-2.0 OR MIT
// Noting operations for later.
#include "lazy.h"

#include "blocks.h"
#include "plan.h"
#include "ranges.h"

namespace hadal::vcode {

Pending *new_pending(Type type, uint32_t length, Cell &result) {
    uint16_t header_class, pending_class;
    Block *block = static_cast<Block *>(take(sizeof(Block), header_class));
    if (block == nullptr) {
        return nullptr;
    }
    Pending *pending = static_cast<Pending *>(take(sizeof(Pending), pending_class));
    if (pending == nullptr) {
        give(block, header_class);
        return nullptr;
    }
    block->references = 1;
    block->header_class = header_class;
    block->data_class = DATA_INSIDE;
    block->data = nullptr;
    block->pending = pending;
    pending->size_class = pending_class;
    pending->arity = 0;
    pending->nodes = 1;
    pending->operation = nullptr;
    result.head = head_of(type, true, length);
    result.block = block;
    return pending;
}

namespace {

uint32_t nodes_of(const Cell &cell) { return is_pending(cell) ? cell.block->pending->nodes : 0; }

} // namespace

bool defer(const Elementwise &operation, Cell *operands, Cell &result) {
    uint32_t nodes = 1;
    for (uint32_t index = 0; index < operation.arity; index++) {
        nodes += nodes_of(operands[index]);
    }
    if (nodes > LAZY_NODES) {
        nodes = 1;
        for (uint32_t index = 0; index < operation.arity; index++) {
            if (!force(operands[index])) {
                return false;
            }
        }
    }
    Pending *pending = new_pending(operation.result, operands[0].length, result);
    if (pending == nullptr) {
        return false;
    }
    pending->source = Source::Operation;
    pending->operation = &operation;
    pending->arity = operation.arity;
    pending->nodes = static_cast<uint16_t>(nodes);
    for (uint32_t index = 0; index < operation.arity; index++) {
        pending->operands[index] = operands[index];
    }
    return true;
}

bool defer_constant(Type type, uint64_t word, uint32_t length, Cell &result) {
    Pending *pending = new_pending(type, length, result);
    if (pending != nullptr) {
        pending->source = Source::Constant;
        pending->word = word;
    }
    return pending != nullptr;
}

bool defer_index(Int start, Int step, uint32_t length, Cell &result) {
    Pending *pending = new_pending(Type::Int, length, result);
    if (pending != nullptr) {
        pending->source = Source::Index;
        pending->start = start;
        pending->step = step;
    }
    return pending != nullptr;
}

// As deep as operations may hang together, no deeper.
void pending_drop(Pending *pending) {
    for (uint32_t index = 0; index < pending->arity; index++) {
        release(pending->operands[index]);
    }
    give(pending, pending->size_class);
}

bool compute(Cell &cell) {
    if (cell.block->pending->source == Source::Ranges) {
        return compute_ranges(cell);
    }
    constexpr uint64_t PIECE = 64 * Plan::STRIP; // what one member takes at a time
    Plan plan;
    uint64_t length = cell.length, pieces = (length + PIECE - 1) / PIECE;
    if (!strips_ready(pieces * PIECE) || !plan.make(cell, true)) {
        return false;
    }
    share_by_member(pieces, PIECE, [&](uint64_t piece, uint32_t member) {
        uint64_t from = piece * PIECE, to = from + PIECE < length ? from + PIECE : length;
        plan.run(member, from, to);
    });
    plan.finish();
    return true;
}

} // namespace hadal::vcode
