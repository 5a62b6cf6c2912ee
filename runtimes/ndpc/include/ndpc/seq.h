// SPDX-License-Identifier: Apache-2.0 OR MIT
// Sequences: values that share their storage. A sequence is a slice of a block with a count of its users; the
// last one gives the block back. Nobody writes to a sequence that others can see, so that reading needs no
// care.
#ifndef NDPC_SEQ_H
#define NDPC_SEQ_H

#include <cstring>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include "loop.h"

namespace ndpc {

// The length of a sequence is an int of the language.
constexpr std::int64_t longest_sequence = std::numeric_limits<std::int32_t>::max();

template <class T> class Seq {
  public:
    using Item = T;

    constexpr Seq() = default;
    Seq(const Seq &other) : items_(other.items_), count_(other.count_), block_(other.block_) { use(); }
    Seq(Seq &&other) noexcept : items_(other.items_), count_(other.count_), block_(other.block_) {
        other.forget();
    }
    Seq &operator=(const Seq &other) { return *this = Seq(other); }
    Seq &operator=(Seq &&other) noexcept {
        std::swap(items_, other.items_);
        std::swap(count_, other.count_);
        std::swap(block_, other.block_);
        return *this;
    }
    ~Seq() {
        if (block_) {
            drop();
        }
    }

    std::int64_t count() const { return count_; }
    const T &operator[](std::int64_t index) const { return items_[index]; }
    const T *begin() const { return items_; }
    const T *end() const { return items_ + count_; }

    // For whoever has made the sequence and not shown it to anybody.
    T *data() { return items_; }

    // A sequence of `count` items. Items of trivial types have no value yet, others are as constructed by
    // default.
    static int make(Seq &made, std::int64_t count, const Site &site) {
        static_assert(alignof(T) <= alignof(BlockHeader));
        made = Seq();
        if (count == 0) {
            return done;
        }
        if (count > longest_sequence) {
            return fail_memory(site, count, sizeof(T));
        }
        std::size_t bytes = sizeof(BlockHeader) + static_cast<std::size_t>(count) * sizeof(T);
        Worker &mine = worker();
        void *memory = allocate_block(mine.pool, bytes);
        if (!memory) {
            return fail_memory(site, count, sizeof(T));
        }
        made.block_ = new (memory) BlockHeader{.uses = 1,
                                               .size_class = static_cast<std::uint16_t>(class_of(bytes)),
                                               .worker = static_cast<std::uint16_t>(mine.number),
                                               .items = static_cast<std::uint32_t>(count),
                                               .is_share = false};
        made.items_ = reinterpret_cast<T *>(made.block_ + 1);
        made.count_ = count;
        if constexpr (!std::is_trivially_default_constructible_v<T>) {
            for (std::int64_t i = 0; i < count; i++) {
                new (made.items_ + i) T();
            }
        }
        return done;
    }

    // Items `begin` to `end`, which must lie within; `this` and the slice share the storage.
    Seq slice(std::int64_t begin, std::int64_t end) const {
        Seq part;
        if (begin < end) {
            part.items_ = items_ + begin;
            part.count_ = end - begin;
            part.block_ = use_here();
        }
        return part;
    }

    // Shortens a sequence that nobody else has seen.
    void shorten(std::int64_t count) { count_ = count; }

    // A sequence over items that live longer than it does.
    static Seq view(const T *items, std::int64_t count) {
        Seq seen;
        seen.items_ = const_cast<T *>(items); // nobody writes to a sequence that has been seen
        seen.count_ = count;
        return seen;
    }

  private:
    void use() const {
        if (block_) {
            block_->uses.fetch_add(1, std::memory_order_relaxed);
        }
    }

    // One use more, by the worker that runs: gives what it counts in.
    BlockHeader *use_here() const {
        if (block_) {
            Worker &mine = worker();
            if (__builtin_expect(block_->worker != mine.number, 0)) {
                if (BlockHeader *share = make_share(mine.pool, mine.number, block_)) {
                    return share;
                }
            }
            use();
        }
        return block_;
    }

    // The only user needs no atomic operation: nobody else can become one.
    static bool is_last_use(BlockHeader *block) {
        return block->uses.load(std::memory_order_acquire) == 1 ||
               block->uses.fetch_sub(1, std::memory_order_acq_rel) == 1;
    }

    void drop() {
        BlockHeader *block = block_;
        if (!is_last_use(block)) {
            return;
        }
        if (block->is_share) {
            block = end_block(worker(), block);
            if (!is_last_use(block)) {
                return;
            }
        }
        if constexpr (!std::is_trivially_destructible_v<T>) {
            T *first = reinterpret_cast<T *>(block + 1);
            for (std::uint32_t i = 0; i < block->items; i++) {
                first[i].~T();
            }
        }
        end_block(worker(), block);
    }

    void forget() {
        items_ = nullptr;
        count_ = 0;
        block_ = nullptr;
    }

    T *items_ = nullptr;
    std::int64_t count_ = 0;
    BlockHeader *block_ = nullptr;
};

template <class T> int length(const Seq<T> &items) { return static_cast<int>(items.count()); }

// A sequence of items that are always there.
template <class T> Seq<T> constant(const T *items, std::int64_t count) { return Seq<T>::view(items, count); }

// Two values. A tuple of three is a pair whose second is a pair.
template <class A, class B> struct Pair {
    A first;
    B second;
};

template <class T> bool equal(const T &a, const T &b) { return a == b; }
template <class T> bool equal(const Seq<T> &a, const Seq<T> &b);
template <class A, class B> bool equal(const Pair<A, B> &a, const Pair<A, B> &b) {
    return equal(a.first, b.first) && equal(a.second, b.second);
}
template <class T> bool equal(const Seq<T> &a, const Seq<T> &b) {
    if (a.count() != b.count()) {
        return false;
    }
    for (std::int64_t i = 0; i < a.count(); i++) {
        if (!equal(a[i], b[i])) {
            return false;
        }
    }
    return true;
}

} // namespace ndpc

#endif
