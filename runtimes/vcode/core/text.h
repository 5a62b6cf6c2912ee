// SPDX-License-Identifier: Apache-2.0 OR MIT
// Arrays and texts of the loader: they grow by realloc and say when there is no memory.
#ifndef HADAL_VCODE_TEXT_H
#define HADAL_VCODE_TEXT_H

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace hadal::vcode {

// Elements are plain data. An array that could not grow is `failed` and drops what is added; who builds one
// looks at the end.
template <typename T> class Array {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    Array() = default;
    Array(const Array &) = delete;
    Array &operator=(const Array &) = delete;
    ~Array() { free(items); }

    bool add(const T &item) {
        T copy = item;
        if (count == capacity && !grow(count + 1)) {
            return false;
        }
        items[count++] = copy;
        return true;
    }
    bool resize(size_t wanted, const T &fill) {
        if (wanted > capacity && !grow(wanted)) {
            return false;
        }
        for (size_t index = count; index < wanted; index++) {
            items[index] = fill;
        }
        count = wanted;
        return true;
    }
    void clear() { count = 0; }
    void drop_last() { count--; }
    size_t size() const { return count; }
    bool empty() const { return count == 0; }
    T &operator[](size_t index) { return items[index]; }
    const T &operator[](size_t index) const { return items[index]; }
    T &last() { return items[count - 1]; }
    T *begin() { return items; }
    T *end() { return items + count; }
    const T *begin() const { return items; }
    const T *end() const { return items + count; }
    bool failed = false;

  private:
    bool grow(size_t wanted) {
        size_t larger = capacity < 8 ? 8 : capacity * 2;
        larger = larger < wanted ? wanted : larger;
        T *moved = larger > SIZE_MAX / sizeof(T)
                       ? nullptr
                       : static_cast<T *>(realloc(static_cast<void *>(items), larger * sizeof(T)));
        if (moved == nullptr) {
            failed = true;
            return false;
        }
        items = moved;
        capacity = larger;
        return true;
    }

    T *items = nullptr;
    size_t count = 0, capacity = 0;
};

// From names to numbers: open addressing, doubled when half full.
class Names {
  public:
    static constexpr uint32_t NONE = UINT32_MAX;
    uint32_t find(std::string_view name) const {
        if (slots.empty()) {
            return NONE;
        }
        for (size_t at = hash(name);; at++) {
            const Slot &slot = slots[at & (slots.size() - 1)];
            if (slot.value == NONE || slot.name() == name) {
                return slot.value;
            }
        }
    }
    // Adds the name or changes its number; false: no memory.
    bool put(std::string_view name, uint32_t value) {
        if (2 * (used + 1) > slots.size() && !grow()) {
            return false;
        }
        insert({name.data(), name.size(), value});
        return true;
    }

  private:
    struct Slot {
        const char *start;
        size_t bytes;
        uint32_t value;
        std::string_view name() const { return {start, bytes}; }
    };
    static size_t hash(std::string_view name) {
        uint64_t value = 0xcbf29ce484222325;
        for (char letter : name) {
            value = (value ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
        }
        return static_cast<size_t>(value ^ value >> 32);
    }
    void insert(const Slot &added) {
        for (size_t at = hash(added.name());; at++) {
            Slot &slot = slots[at & (slots.size() - 1)];
            if (slot.value == NONE || slot.name() == added.name()) {
                used += slot.value == NONE;
                slot = added;
                return;
            }
        }
    }
    bool grow() {
        Array<Slot> old;
        for (const Slot &slot : slots) {
            if (slot.value != NONE && !old.add(slot)) {
                return false;
            }
        }
        size_t size = slots.empty() ? 64 : slots.size() * 2;
        slots.clear();
        if (!slots.resize(size, {nullptr, 0, NONE})) {
            return false;
        }
        used = 0;
        for (const Slot &slot : old) {
            insert(slot);
        }
        return true;
    }

    Array<Slot> slots;
    size_t used = 0;
};

} // namespace hadal::vcode

#endif
