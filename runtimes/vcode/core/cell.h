// SPDX-License-Identifier: Apache-2.0 OR MIT
// Stack cells and the blocks behind them.
//
// A cell is two words. The first is its head: type, place and length in one word, so that one comparison
// finds "an INT vector of length 1". Data of up to eight bytes is always in the second word, longer data
// always in a block; a descriptor of one segment is always in the second word (its length), any other in a
// block. So equal heads mean equal shapes. Blocks count their references; only the interpreter's thread does
// that.
#ifndef HADAL_VCODE_CELL_H
#define HADAL_VCODE_CELL_H

#include <hadal/hrt.h>

#include <cstring>

namespace hadal::vcode {

using Int = int32_t;
using Bool = uint8_t; // 0 or 1
using Float = double;

enum class Type : uint8_t { None, Int, Bool, Float, Segdes, Pair };

inline constexpr uint32_t LENGTH_MAX = 0x7fffffff; // indices are INT

struct Pending;

// What a cell may point to. A data block whose data is null is still to be computed (see lazy.h).
struct Block {
    uint32_t references;
    uint16_t header_class; // size class of this header's memory
    uint16_t data_class;   // of the data, if it is apart (DATA_INSIDE: it follows the header)
    void *data;
    union {
        Pending *pending; // while data is null
        Block *next;      // among those to be freed
        uint64_t bytes;   // capacity
    };
};
inline constexpr uint16_t DATA_INSIDE = 0xffff;

struct Segments;
struct PairBlock;

struct Cell {
    union {
        uint64_t head;
        struct {
            Type type;
            uint8_t in_block;
            uint16_t unused;
            uint32_t length; // of a descriptor: its segments
        };
    };
    union {
        Int i;
        Bool b;
        Float f;
        Int ints[2];
        uint32_t total; // of a descriptor with one segment
        uint64_t word;
        Block *block;
        Segments *segments;
        PairBlock *pair;
    };
};
static_assert(sizeof(Cell) == 16);

constexpr uint64_t head_of(Type type, bool in_block, uint32_t length) {
    return static_cast<uint64_t>(type) | static_cast<uint64_t>(in_block) << 8 |
           static_cast<uint64_t>(length) << 32;
}
inline constexpr uint64_t INT1 = head_of(Type::Int, false, 1);
inline constexpr uint64_t BOOL1 = head_of(Type::Bool, false, 1);
inline constexpr uint64_t FLOAT1 = head_of(Type::Float, false, 1);
inline constexpr uint64_t SEGDES1 = head_of(Type::Segdes, false, 1);

// A descriptor that has not exactly one segment. Its lengths are an INT cell, shared with LENGTHS.
struct Segments {
    Block block; // data: the offsets, one more than there are segments
    Cell lengths;
    uint32_t total;
    const Int *offsets() const { return static_cast<const Int *>(block.data); }
};

struct PairBlock {
    Block block;
    Cell first, second;
};

template <typename T> struct TypeOf;
template <> struct TypeOf<Int> { static constexpr Type value = Type::Int; };
template <> struct TypeOf<Bool> { static constexpr Type value = Type::Bool; };
template <> struct TypeOf<Float> { static constexpr Type value = Type::Float; };

inline uint32_t element_bytes(Type type) { return type == Type::Float ? 8 : type == Type::Bool ? 1 : 4; }
inline bool is_data(Type type) { return type == Type::Int || type == Type::Bool || type == Type::Float; }
const char *type_name(Type type);

// The elements of a data cell that is not pending.
inline void *data_of(Cell &cell) { return cell.in_block ? cell.block->data : &cell.word; }
inline const void *data_of(const Cell &cell) { return cell.in_block ? cell.block->data : &cell.word; }
template <typename T> const T *elements(const Cell &cell) { return static_cast<const T *>(data_of(cell)); }

inline uint32_t total_of(const Cell &descriptor) {
    return descriptor.in_block ? descriptor.segments->total : descriptor.total;
}

inline Cell int_cell(Int value) {
    Cell cell;
    cell.head = INT1;
    cell.word = static_cast<uint32_t>(value);
    return cell;
}
inline Cell bool_cell(bool value) {
    Cell cell;
    cell.head = BOOL1;
    cell.word = value;
    return cell;
}
inline Cell float_cell(Float value) {
    Cell cell;
    cell.head = FLOAT1;
    cell.f = value;
    return cell;
}
inline Cell segdes_cell(uint32_t total) {
    Cell cell;
    cell.head = SEGDES1;
    cell.word = total;
    return cell;
}

// Frees what nobody refers to any more.
void free_block(Cell cell);

inline void retain(const Cell &cell) {
    if (cell.in_block) {
        cell.block->references++;
    }
}
inline void release(const Cell &cell) {
    if (cell.in_block && --cell.block->references == 0) {
        free_block(cell);
    }
}

} // namespace hadal::vcode

#endif
