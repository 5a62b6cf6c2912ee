// SPDX-License-Identifier: Apache-2.0 OR MIT
// Weak memory: what each thread knows, and which stores of a location a load may therefore read. The model is
// C11's for relaxed, acquire, release and sequentially consistent fences, with two restrictions: stores enter
// a location's modification order as they are executed, and read-modify-writes, failed ones too, read the
// last.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "atomic.h"
#include "model.h"

namespace model {

inline constexpr unsigned max_threads = MODEL_THREADS + 1; // the last is who sets up and finishes
inline constexpr unsigned max_locations = 64;

// What happened before: events of each thread, and for each location the oldest store still readable.
struct Knowledge {
    std::array<std::uint16_t, max_threads> clock{};
    std::array<std::uint16_t, max_locations> view{};

    void join(const Knowledge &other);
};

struct Store {
    std::uint64_t value;
    Knowledge message; // what a load that acquires it learns
};

struct Location {
    std::uintptr_t address;
    unsigned bytes;
    std::vector<Store> stores;
};

struct Thread {
    Knowledge now;
    Knowledge released; // as of the last release fence: what relaxed stores publish
    Knowledge read;     // of relaxed loads: what an acquire fence learns
};

// Chooses one of `count` possibilities; 0 is the plain one.
class Chooser {
  public:
    virtual unsigned choose(unsigned count) = 0;

  protected:
    ~Chooser() = default;
};

class Memory {
  public:
    explicit Memory(Chooser &chooser) : chooser(chooser) {}

    // Forgets everything; `fault` as in model_scenario.
    void reset(unsigned fault);
    // The threads start with what `parent` knows; at the end it learns what they know.
    void spawn(unsigned parent, unsigned child);
    void join(unsigned parent, unsigned child);
    // Every store so far reaches the thread, as it does after a while.
    void settle(unsigned thread);

    std::uint64_t load(unsigned thread, const void *object, unsigned bytes, model_order order);
    void store(unsigned thread, void *object, unsigned bytes, std::uint64_t value, model_order order);
    // Reads the last store; `next` gets its value and says what to write, or that nothing is to be written.
    template <typename Next>
    std::uint64_t update(unsigned thread, void *object, unsigned bytes, model_order order, Next next);
    void fence(unsigned thread, model_order order);

    // The lock of the queue on which the kernel's wait and wake work.
    void enter_queue(unsigned thread, const void *word);
    void leave_queue(unsigned thread, const void *word);
    // The word as the kernel's wait reads it: perhaps half of a 64-bit location.
    std::uint32_t load_word(unsigned thread, const std::uint32_t *word);

    // Plain data: null, or what is wrong.
    const char *read_data(unsigned thread, const void *data);
    const char *write_data(unsigned thread, const void *data);
    void retire(const void *memory, std::size_t bytes);
    bool is_retired(const void *object) const;

  private:
    struct Data {
        std::uintptr_t address;
        Knowledge reads;
        unsigned writer;
        std::uint16_t written;
    };
    struct Queue {
        std::uintptr_t address;
        Knowledge known;
    };
    struct Range {
        std::uintptr_t begin;
        std::uintptr_t end;
    };

    unsigned find(const void *object, unsigned bytes);
    unsigned choose_store(unsigned thread, unsigned location);
    void learn(unsigned thread, unsigned location, unsigned index, model_order order);
    void publish(unsigned thread, unsigned location, std::uint64_t value, model_order order, bool continues);
    Data &data_at(const void *data);
    Queue &queue_at(const void *word);
    bool acquires(model_order order) const;
    bool releases(model_order order) const;

    Chooser &chooser;
    unsigned fault = 0;
    unsigned stale_reads = 0;
    std::array<Thread, max_threads> threads;
    Knowledge fences; // what passed through sequentially consistent fences
    std::vector<Location> locations;
    std::vector<Data> plain;
    std::vector<Queue> queues;
    std::vector<Range> retired;
};

template <typename Next>
std::uint64_t Memory::update(unsigned thread, void *object, unsigned bytes, model_order order, Next next) {
    unsigned location = find(object, bytes);
    auto last = static_cast<unsigned>(locations[location].stores.size() - 1);
    std::uint64_t value = locations[location].stores[last].value;
    std::uint64_t desired = value;
    bool writes = next(value, desired);
    learn(thread, location, last, writes ? order : HRT_RELAXED);
    if (writes) {
        publish(thread, location, desired, order, true);
    }
    return value;
}

} // namespace model
