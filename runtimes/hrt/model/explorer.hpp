// SPDX-License-Identifier: Apache-2.0 OR MIT
// The search: runs a scenario again and again, each time with the last open choice made differently, until
// none is left.
//
// A choice is which thread makes the next step, and what that step sees (an older store, a signal). Without a
// bound on preemptions, sleep sets leave out schedules that differ only in the order of independent steps;
// with a bound all schedules within it are run.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "fiber.hpp"
#include "memory.hpp"
#include "model.h"

namespace model {

enum class Act : std::uint8_t { begin, load, store, update, fence, pause, wait, wake, resume };

// What a thread is about to do.
struct Step {
    Act act = Act::begin;
    const void *object = nullptr;
};

struct Report {
    std::uint64_t runs = 0;
    bool complete = true; // false: given up at the limit of runs
    std::string failure;  // empty: none found
    std::string schedule; // the failing run, step by step
};

class Explorer : private Chooser {
  public:
    Report explore(const model_scenario &scenario);

    // Called by the running thread.
    void step(Act act, const void *object);
    // Ends the run, unless it is in setup or finish.
    void fail(const std::string &text);
    int wait(const std::uint32_t *word, std::uint32_t expected, std::uint64_t deadline_ns);
    std::uint32_t wake(const std::uint32_t *word, std::uint32_t count);
    void pause();
    void wrote();
    unsigned self() const { return current; }
    unsigned spins() const { return scenario->spins; }
    // Whether this is the run whose steps are told.
    bool keeps_notes() const { return traces; }
    void note(const std::string &text);

    Memory memory{*this};

  private:
    enum class State : std::uint8_t { absent, ready, paused, asleep, done };
    struct Actor {
        Fiber fiber;
        State state = State::absent;
        Step next;
        bool woken = false;    // asleep: by a wake
        bool timed = false;    // asleep: has a deadline
        bool stubborn = false; // paused twice although everything was settled
    };
    struct Choice {
        unsigned chosen;
        unsigned count;
    };

    static void thread_main();
    void run();
    bool next_run();
    unsigned choose(unsigned count) override;
    bool is_enabled(unsigned thread) const;
    unsigned pick_thread();
    bool force_progress();
    void switch_to(unsigned thread);
    [[noreturn]] void stop();
    static bool are_independent(const Step &a, const Step &b);

    const model_scenario *scenario = nullptr;
    std::array<Actor, max_threads> actors;
    unsigned current = max_threads - 1;
    std::vector<Choice> choices;
    std::size_t position = 0;
    unsigned steps = 0;
    unsigned preemptions = 0;
    unsigned interrupts = 0;
    unsigned asleep_set = 0;        // bits of threads whose next step other runs have covered
    std::vector<unsigned> sleepers; // in order of arrival
    std::string failure;
    bool traces = false;
    std::string trace;
};

// Takes back all memory that the table's alloc gave out.
void free_arena();

// The one explorer of this process.
Explorer &explorer();

} // namespace model
