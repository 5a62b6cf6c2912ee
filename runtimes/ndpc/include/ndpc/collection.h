// SPDX-License-Identifier: Apache-2.0 OR MIT
// Collections: what C++ programs give to translated functions and get from them. Any container will do that a
// subclass wraps.
#ifndef NDPC_COLLECTION_H
#define NDPC_COLLECTION_H

#include <cstdlib>
#include <initializer_list>

#include "nested.h"

namespace ndpc {

template <class T> class Collection {
  public:
    virtual ~Collection() = default;
    virtual std::int64_t count() const = 0;
    // The item, which must be there. May be called by several threads at a time.
    virtual const T &at(std::int64_t index) const = 0;
    // A place to assign to. Past the end the collection grows; null: it cannot.
    virtual T *place(std::int64_t index) = 0;
    // Makes the collection as long or as short as this.
    virtual bool resize(std::int64_t count) = 0;

    const T &operator[](std::int64_t index) const { return at(index); }
    T &operator[](std::int64_t index) { return *place(index); }
};

// A simple vector.
template <class T> class Vector final : public Collection<T> {
  public:
    Vector() = default;
    Vector(std::initializer_list<T> items) {
        for (const T &item : items) {
            if (T *to = place(count_)) {
                *to = item;
            }
        }
    }
    std::int64_t count() const override { return count_; }
    const T &at(std::int64_t index) const override { return items_[index]; }
    T *place(std::int64_t index) override {
        if (index >= count_ && !resize(index + 1)) {
            return nullptr;
        }
        return items_.data() + index;
    }
    bool resize(std::int64_t count) override {
        if (count > items_.count()) {
            static const Site site{"Vector", "resize"};
            Seq<T> larger;
            if (Seq<T>::make(larger, count < 8 ? 8 : 2 * count, site) != done) {
                return false;
            }
            for (std::int64_t i = 0; i < count_; i++) {
                larger.data()[i] = items_[i];
            }
            items_ = std::move(larger);
        }
        for (std::int64_t i = count_; i < count; i++) {
            items_.data()[i] = T();
        }
        count_ = count;
        return true;
    }

  private:
    Seq<T> items_;
    std::int64_t count_ = 0;
};

// The items of a collection, in parallel.
template <class T> int from_collection(Seq<T> &result, const Collection<T> &items, const Site &site) {
    return fill(result, items.count(), site, [&](std::int64_t i, T &item) -> int {
        item = items.at(i);
        return done;
    });
}

template <class T> int to_collection(Collection<T> &result, const Seq<T> &items, const Site &site) {
    if (!result.resize(items.count())) {
        return fail_memory(site, items.count(), sizeof(T));
    }
    return each_index<Size::small>(items.count(), [&](std::int64_t i) -> int {
        *result.place(i) = items[i];
        return done;
    });
}

// What a caller in C gets: a copy that ndpc_free() frees.
template <class T, class Count> int to_c(T *&items, Count &count, const Seq<T> &result) {
    static constexpr Site here{"a function", "a call from C"};
    auto bytes = static_cast<std::size_t>(result.count()) * sizeof(T);
    items = static_cast<T *>(std::malloc(bytes != 0 ? bytes : 1));
    if (!items) {
        return fail_memory(here, result.count(), sizeof(T));
    }
    if (bytes != 0) {
        std::memcpy(items, result.begin(), bytes);
    }
    count = result.count();
    return done;
}

} // namespace ndpc

#endif
