// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the code under test calls: the atomic operations, and a call table whose wait and wake are steps.
#include <cstdio>
#include <cstring>

#include <hadal/hrt/calls.h>
#include <hadal/hrt/topology.h>

#include "explorer.hpp"

using model::Act;
using model::explorer;

namespace {

// Most runs keep no notes: formatting would take longer than the step.
void describe(const char *what, const void *object, std::uint64_t value) {
    if (!explorer().keeps_notes()) {
        return;
    }
    char text[96];
    std::snprintf(text, sizeof text, "%-8s %p %#llx", what, object, static_cast<unsigned long long>(value));
    explorer().note(text);
}

int wait_word(const std::uint32_t *word, std::uint32_t expected, std::uint64_t deadline_ns, std::uint32_t) {
    return explorer().wait(word, expected, deadline_ns);
}

std::uint32_t wake_word(const std::uint32_t *word, std::uint32_t count, std::uint32_t) {
    return explorer().wake(word, count);
}

hrt_thread_t thread_self() { return explorer().self() + 1; }

// Whoever may run is chosen at each step anyway.
void thread_yield() {}

std::uint64_t now_ns() { return 0; }

std::uint32_t cpu_count() { return 4; }

// Pairs of CPUs share a core, so that a tree of three has two levels.
int cpu_info(std::uint32_t cpu, struct hrt_cpu_info *info, std::uint64_t) {
    *info = {cpu, cpu, 0, cpu / 2, cpu % 2, 0};
    return cpu < cpu_count() ? HRT_OK : HRT_EINVAL;
}

alignas(64) unsigned char arena[8 << 10];
std::size_t arena_used;

void *allocate(std::uint64_t bytes, std::uint64_t, std::int32_t, std::uint32_t) {
    std::size_t begin = arena_used;
    arena_used += (bytes + 63) & ~std::uint64_t{63};
    return arena_used <= sizeof arena ? arena + begin : nullptr;
}

int release(void *) { return HRT_OK; }

struct hrt_calls make_table() {
    struct hrt_calls table = {};
    table.version = HRT_CALLS_VERSION;
    table.size = sizeof table;
    table.wait = wait_word;
    table.wake = wake_word;
    table.thread_self = thread_self;
    table.thread_yield = thread_yield;
    table.now_ns = now_ns;
    table.cpu_count = cpu_count;
    table.core_count = cpu_count;
    table.cpu_info = cpu_info;
    table.alloc = allocate;
    table.free = release;
    return table;
}

const struct hrt_calls table = make_table();

} // namespace

const struct hrt_calls *hrt_calls = &table;

void model::free_arena() { arena_used = 0; }

extern "C" {

uint64_t model_load(const void *object, unsigned bytes, enum model_order order) {
    explorer().step(Act::load, object);
    std::uint64_t value = explorer().memory.load(explorer().self(), object, bytes, order);
    describe("loads", object, value);
    return value;
}

void model_store(void *object, unsigned bytes, uint64_t value, enum model_order order) {
    explorer().step(Act::store, object);
    explorer().memory.store(explorer().self(), object, bytes, value, order);
    describe("stores", object, value);
    explorer().wrote();
}

uint64_t model_exchange(void *object, unsigned bytes, uint64_t value, enum model_order order) {
    explorer().step(Act::update, object);
    describe("swaps in", object, value);
    explorer().wrote();
    return explorer().memory.update(explorer().self(), object, bytes, order,
                                    [value](std::uint64_t, std::uint64_t &next) {
                                        next = value;
                                        return true;
                                    });
}

uint64_t model_fetch_add(void *object, unsigned bytes, uint64_t value, enum model_order order) {
    explorer().step(Act::update, object);
    describe("adds", object, value);
    explorer().wrote();
    std::uint64_t mask = bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * bytes) - 1;
    return explorer().memory.update(explorer().self(), object, bytes, order,
                                    [value, mask](std::uint64_t before, std::uint64_t &next) {
                                        next = (before + value) & mask;
                                        return true;
                                    });
}

bool model_cas(void *object, unsigned bytes, void *expected, uint64_t desired, enum model_order order) {
    explorer().step(Act::update, object);
    std::uint64_t wanted = 0;
    std::memcpy(&wanted, expected, bytes);
    bool swapped = false;
    std::uint64_t found =
        explorer().memory.update(explorer().self(), object, bytes, order,
                                 [&swapped, wanted, desired](std::uint64_t before, std::uint64_t &next) {
                                     swapped = before == wanted;
                                     next = desired;
                                     return swapped;
                                 });
    if (swapped) {
        describe("changes", object, desired);
        explorer().wrote();
    } else {
        describe("found", object, found);
        std::memcpy(expected, &found, bytes);
    }
    return swapped;
}

void model_fence(enum model_order order) {
    explorer().step(Act::fence, nullptr);
    explorer().memory.fence(explorer().self(), order);
}

void model_pause(void) { explorer().pause(); }

unsigned model_spins(void) { return explorer().spins(); }

void model_fail(const char *text) { explorer().fail(text); }

void model_read(const void *data) {
    if (const char *race = explorer().memory.read_data(explorer().self(), data)) {
        explorer().fail(race);
    }
}

void model_write(const void *data) {
    if (const char *race = explorer().memory.write_data(explorer().self(), data)) {
        explorer().fail(race);
    }
}

void model_retire(const void *memory, size_t bytes) { explorer().memory.retire(memory, bytes); }

unsigned model_self(void) { return explorer().self(); }
}
