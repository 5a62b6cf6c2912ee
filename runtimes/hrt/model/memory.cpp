// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace model {

namespace {

// Loads that may read something else than the last store, per run: each is a branch of the search.
constexpr unsigned max_stale_reads = 2;

std::uintptr_t address_of(const void *object) { return reinterpret_cast<std::uintptr_t>(object); }

} // namespace

void Knowledge::join(const Knowledge &other) {
    for (unsigned i = 0; i < clock.size(); i++) {
        clock[i] = std::max(clock[i], other.clock[i]);
    }
    for (unsigned i = 0; i < view.size(); i++) {
        view[i] = std::max(view[i], other.view[i]);
    }
}

void Memory::reset(unsigned seeded) {
    fault = seeded;
    stale_reads = 0;
    threads = {};
    fences = {};
    locations.clear();
    plain.clear();
    queues.clear();
    retired.clear();
}

void Memory::spawn(unsigned parent, unsigned child) {
    threads[child].now = threads[parent].now;
    threads[parent].now.clock[parent]++;
    threads[child].now.clock[child]++;
}

void Memory::join(unsigned parent, unsigned child) { threads[parent].now.join(threads[child].now); }

void Memory::settle(unsigned thread) {
    for (unsigned i = 0; i < locations.size(); i++) {
        threads[thread].now.view[i] = static_cast<std::uint16_t>(locations[i].stores.size() - 1);
    }
}

bool Memory::acquires(model_order order) const {
    return (order == HRT_ACQUIRE || order >= HRT_ACQ_REL) && (fault & MODEL_ACQUIRE_RELAXED) == 0;
}

bool Memory::releases(model_order order) const {
    return (order == HRT_RELEASE || order >= HRT_ACQ_REL) && (fault & MODEL_RELEASE_RELAXED) == 0;
}

// A location is born with what the memory holds: a static initialiser wrote it.
unsigned Memory::find(const void *object, unsigned bytes) {
    std::uintptr_t address = address_of(object);
    for (unsigned i = 0; i < locations.size(); i++) {
        if (locations[i].address == address) {
            return i;
        }
    }
    if (locations.size() == max_locations) {
        std::abort(); // raise the limit
    }
    std::uint64_t value = 0;
    std::memcpy(&value, object, bytes);
    locations.push_back({address, bytes, {{value, {}}}});
    return static_cast<unsigned>(locations.size() - 1);
}

unsigned Memory::choose_store(unsigned thread, unsigned location) {
    auto last = static_cast<unsigned>(locations[location].stores.size() - 1);
    unsigned oldest = threads[thread].now.view[location];
    if (oldest == last || stale_reads == max_stale_reads || thread == max_threads - 1) {
        return last;
    }
    unsigned age = chooser.choose(last - oldest + 1);
    stale_reads += age > 0 ? 1 : 0;
    return last - age;
}

void Memory::learn(unsigned thread, unsigned location, unsigned index, model_order order) {
    Thread &self = threads[thread];
    const Store &store = locations[location].stores[index];
    self.now.view[location] = std::max(self.now.view[location], static_cast<std::uint16_t>(index));
    if (acquires(order)) {
        self.now.join(store.message);
    } else {
        self.read.join(store.message);
    }
}

void Memory::publish(unsigned thread, unsigned location, std::uint64_t value, model_order order,
                     bool continues) {
    Thread &self = threads[thread];
    Location &place = locations[location];
    self.now.view[location] = static_cast<std::uint16_t>(place.stores.size());
    Knowledge message = releases(order) ? self.now : self.released;
    if (continues) {
        message.join(place.stores.back().message); // a read-modify-write continues a release sequence
    }
    place.stores.push_back({value, message});
    std::memcpy(reinterpret_cast<void *>(place.address), &value, place.bytes);
    self.now.clock[thread]++;
}

std::uint64_t Memory::load(unsigned thread, const void *object, unsigned bytes, model_order order) {
    unsigned location = find(object, bytes);
    unsigned index = choose_store(thread, location);
    learn(thread, location, index, order);
    return locations[location].stores[index].value;
}

void Memory::store(unsigned thread, void *object, unsigned bytes, std::uint64_t value, model_order order) {
    publish(thread, find(object, bytes), value, order, false);
}

void Memory::fence(unsigned thread, model_order order) {
    Thread &self = threads[thread];
    if (order != HRT_SEQ_CST || (fault & MODEL_NO_FENCE) != 0) {
        return;
    }
    self.now.join(self.read);
    // Fences order what is seen (views), they do not make one thread's plain data another's (clocks).
    for (unsigned i = 0; i < fences.view.size(); i++) {
        fences.view[i] = self.now.view[i] = std::max(fences.view[i], self.now.view[i]);
    }
    self.released = self.now;
    self.now.clock[thread]++;
}

Memory::Queue &Memory::queue_at(const void *word) {
    for (Queue &queue : queues) {
        if (queue.address == address_of(word)) {
            return queue;
        }
    }
    queues.push_back({address_of(word), {}});
    return queues.back();
}

void Memory::enter_queue(unsigned thread, const void *word) {
    threads[thread].now.join(queue_at(word).known);
}

void Memory::leave_queue(unsigned thread, const void *word) {
    queue_at(word).known.join(threads[thread].now);
    threads[thread].now.clock[thread]++;
}

std::uint32_t Memory::load_word(unsigned thread, const std::uint32_t *word) {
    std::uintptr_t address = address_of(word);
    for (unsigned i = 0; i < locations.size(); i++) {
        if (locations[i].address <= address && address < locations[i].address + locations[i].bytes) {
            unsigned index = choose_store(thread, i);
            learn(thread, i, index, HRT_RELAXED);
            return static_cast<std::uint32_t>(locations[i].stores[index].value >>
                                              8 * (address - locations[i].address));
        }
    }
    return *word;
}

Memory::Data &Memory::data_at(const void *data) {
    for (Data &known : plain) {
        if (known.address == address_of(data)) {
            return known;
        }
    }
    plain.push_back({address_of(data), {}, 0, 0});
    return plain.back();
}

const char *Memory::read_data(unsigned thread, const void *data) {
    Data &known = data_at(data);
    known.reads.clock[thread] = threads[thread].now.clock[thread];
    bool ordered = known.written <= threads[thread].now.clock[known.writer];
    return ordered || known.writer == thread ? nullptr : "data race: read of unordered write";
}

const char *Memory::write_data(unsigned thread, const void *data) {
    Data &known = data_at(data);
    const Knowledge &now = threads[thread].now;
    bool ordered = known.writer == thread || known.written <= now.clock[known.writer];
    for (unsigned other = 0; other < max_threads; other++) {
        ordered = ordered && (other == thread || known.reads.clock[other] <= now.clock[other]);
    }
    known.writer = thread;
    known.written = now.clock[thread];
    return ordered ? nullptr : "data race: write beside unordered access";
}

void Memory::retire(const void *memory, std::size_t bytes) {
    retired.push_back({address_of(memory), address_of(memory) + bytes});
}

bool Memory::is_retired(const void *object) const {
    std::uintptr_t address = address_of(object);
    return std::any_of(retired.begin(), retired.end(), [address](const Range &range) {
        return range.begin <= address && address < range.end;
    });
}

} // namespace model
