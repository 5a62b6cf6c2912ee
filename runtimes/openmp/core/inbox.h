// SPDX-License-Identifier: Apache-2.0 OR MIT
// Ready tasks of a team that are in no member's deque: those with a priority, those that no deque had room
// for, and those that no member has made ready. The most urgent come first, and of those with the same
// priority the oldest.
#ifndef HADAL_OMP_INBOX_H
#define HADAL_OMP_INBOX_H

#include <cstdint>

#include <hadal/hrt.h>

namespace hadal::omp {

// `Item` has a `priority`, and two links for the inbox: `next` and `lower`.
template <typename Item> class Inbox {
  public:
    // Takes time that grows with the number of different priorities that are queued.
    void push(Item &item) {
        hrt_spin_lock(&lock);
        Item **level = &levels;
        while (*level != nullptr && (*level)->priority > item.priority) {
            level = &(*level)->lower;
        }
        Item *newest = *level;
        if (newest != nullptr && newest->priority == item.priority) {
            item.next = newest->next;
            newest->next = &item;
            item.lower = newest->lower;
        } else {
            item.next = &item;
            item.lower = newest;
        }
        HRT_STORE(level, &item, HRT_RELAXED);
        HRT_STORE(&urgent_count, urgent_count + (item.priority > 0), HRT_RELAXED);
        hrt_spin_unlock(&lock);
    }

    // The first with at least that priority that the caller wants; null if there is none.
    template <typename Wants> Item *take(int32_t priority, Wants wants) {
        hrt_spin_lock(&lock);
        Item *found = nullptr;
        for (Item **level = &levels; *level != nullptr && (*level)->priority >= priority;
             level = &(*level)->lower) {
            found = take_of(level, wants);
            if (found != nullptr) {
                HRT_STORE(&urgent_count, urgent_count - (found->priority > 0), HRT_RELAXED);
                break;
            }
        }
        hrt_spin_unlock(&lock);
        return found;
    }

    // As far as the caller has seen.
    bool is_empty() const { return HRT_LOAD(&levels, HRT_RELAXED) == nullptr; }
    // The same: how many have a priority above 0.
    uint32_t urgent() const { return HRT_LOAD(&urgent_count, HRT_RELAXED); }

  private:
    template <typename Wants> static Item *take_of(Item **level, Wants wants) {
        Item *newest = *level, *before = newest;
        do {
            Item *item = before->next;
            if (wants(*item)) {
                if (item == before) {
                    HRT_STORE(level, item->lower, HRT_RELAXED);
                    return item;
                }
                before->next = item->next;
                if (item == newest) {
                    before->lower = newest->lower;
                    HRT_STORE(level, before, HRT_RELAXED);
                }
                return item;
            }
            before = item;
        } while (before != newest);
        return nullptr;
    }

    // The newest of each priority; its `lower` is that of the next lower priority, its `next` the oldest of
    // its own.
    Item *levels = nullptr;
    uint32_t urgent_count = 0;
    hrt_spin_t lock = HRT_SPIN_INIT;
};

} // namespace hadal::omp

#endif
