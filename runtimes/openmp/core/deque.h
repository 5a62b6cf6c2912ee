// SPDX-License-Identifier: Apache-2.0 OR MIT
// The queue of a team member's tasks: its owner takes the newest, others steal the oldest (Chase and Lev
// 2005, with the orders of Le, Pop, Cohen and Zappa Nardelli 2013). It does not grow: a full one refuses, and
// its owner runs the task at once.
#ifndef HADAL_OMP_DEQUE_H
#define HADAL_OMP_DEQUE_H

#include <cstdint>

#include <hadal/hrt/atomic.h>

namespace hadal::omp {

#ifndef HADAL_OMP_DEQUE_PLACES
#define HADAL_OMP_DEQUE_PLACES 256
#endif

template <typename Item> class Deque {
  public:
    static constexpr uint32_t PLACES = HADAL_OMP_DEQUE_PLACES;

    // Where the items are; a deque without places is empty and full.
    struct Places {
        Item *items[PLACES];
    };

    bool has_places() const { return places != nullptr; }
    void give_places(Places *given) { places = given; }

    // By the owner; false if it is full.
    bool push(Item *item) {
        uint32_t end = HRT_LOAD(&bottom, HRT_RELAXED);
        if (places == nullptr || end - HRT_LOAD(&top, HRT_ACQUIRE) >= PLACES) {
            return false;
        }
        HRT_STORE(&places->items[end % PLACES], item, HRT_RELAXED);
        HRT_STORE(&bottom, end + 1, HRT_RELEASE);
        return true;
    }

    // By the owner: the newest, or null.
    Item *pop() {
        uint32_t end = HRT_LOAD(&bottom, HRT_RELAXED);
        if (end == HRT_LOAD(&top, HRT_RELAXED)) {
            return nullptr;
        }
        end--;
        HRT_STORE(&bottom, end, HRT_RELAXED);
        HRT_FENCE(HRT_SEQ_CST);
        uint32_t begin = HRT_LOAD(&top, HRT_RELAXED);
        Item *item = nullptr;
        if (static_cast<int32_t>(end - begin) >= 0) {
            item = HRT_LOAD(&places->items[end % PLACES], HRT_RELAXED);
            if (end != begin) {
                return item;
            }
            // The last one: thieves may want it, too.
            if (!HRT_CAS(&top, &begin, begin + 1, HRT_SEQ_CST)) {
                item = nullptr;
            }
        }
        HRT_STORE(&bottom, end + 1, HRT_RELAXED);
        return item;
    }

    // By anybody: the oldest, if the thief wants it; null if there is none or another thief was faster.
    // `wants` may see an item that others have taken meanwhile, whose memory must still be that of an item;
    // its answer does not count then.
    template <typename Wants> Item *steal(Wants wants) {
        uint32_t begin = HRT_LOAD(&top, HRT_ACQUIRE);
        HRT_FENCE(HRT_SEQ_CST);
        uint32_t end = HRT_LOAD(&bottom, HRT_ACQUIRE);
        if (static_cast<int32_t>(end - begin) <= 0) {
            return nullptr;
        }
        Item *item = HRT_LOAD(&places->items[begin % PLACES], HRT_RELAXED);
        return wants(*item) && HRT_CAS(&top, &begin, begin + 1, HRT_SEQ_CST) ? item : nullptr;
    }

    // How many there are, as far as the owner has seen.
    uint32_t size() const { return HRT_LOAD(&bottom, HRT_RELAXED) - HRT_LOAD(&top, HRT_RELAXED); }
    // As far as the caller has seen.
    bool is_empty() const {
        return static_cast<int32_t>(HRT_LOAD(&bottom, HRT_RELAXED) - HRT_LOAD(&top, HRT_RELAXED)) <= 0;
    }

  private:
    Places *places = nullptr;
    uint32_t bottom = 0;          // written by the owner
    alignas(64) uint32_t top = 0; // moved by thieves
};

} // namespace hadal::omp

#endif
