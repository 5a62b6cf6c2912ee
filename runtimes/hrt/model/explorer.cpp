// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "explorer.hpp"

#include <algorithm>
#include <cstdlib>

#include <hadal/hrt/calls.h>

namespace model {

namespace {

constexpr unsigned stage = max_threads - 1; // who sets up and finishes
constexpr unsigned max_steps = 5000;
constexpr std::uint64_t max_runs = 3'000'000;

} // namespace

Explorer &explorer() {
    static Explorer one;
    return one;
}

Report Explorer::explore(const model_scenario &wanted) {
    Report report;
    scenario = &wanted;
    choices.clear();
    do {
        failure.clear();
        run();
        report.runs++;
        if (!failure.empty()) {
            report.failure = failure;
            traces = true; // once more, with notes
            run();
            traces = false;
            report.schedule = trace;
            return report;
        }
        if (report.runs == max_runs) {
            report.complete = false;
            return report;
        }
    } while (next_run());
    return report;
}

bool Explorer::next_run() {
    while (!choices.empty() && choices.back().chosen + 1 == choices.back().count) {
        choices.pop_back();
    }
    if (choices.empty()) {
        return false;
    }
    choices.back().chosen++;
    return true;
}

unsigned Explorer::choose(unsigned count) {
    if (count < 2) {
        return 0;
    }
    if (position == choices.size()) {
        choices.push_back({0, count});
    }
    if (choices[position].count != count) {
        std::abort(); // the scenario does not do the same in the same schedule
    }
    return choices[position++].chosen;
}

void Explorer::run() {
    position = 0;
    steps = 0;
    preemptions = 0;
    interrupts = 0;
    asleep_set = 0;
    sleepers.clear();
    trace.clear();
    memory.reset(scenario->fault);
    free_arena();
    current = stage;
    scenario->setup();
    for (unsigned thread = 0; thread < MODEL_THREADS; thread++) {
        Actor &actor = actors[thread];
        actor.state = scenario->threads[thread] != nullptr ? State::ready : State::absent;
        actor.next = {};
        actor.woken = actor.timed = actor.stubborn = false;
        if (actor.state == State::ready) {
            memory.spawn(stage, thread);
            actor.fiber.prepare(thread_main);
        }
    }
    switch_to(pick_thread());
    // Back here when all threads are done, or the run has been stopped.
    current = stage;
    bool finished = std::all_of(actors.begin(), actors.end() - 1, [](const Actor &actor) {
        return actor.state == State::absent || actor.state == State::done;
    });
    if (finished && failure.empty() && scenario->finish != nullptr) {
        for (unsigned thread = 0; thread < MODEL_THREADS; thread++) {
            memory.join(stage, thread);
        }
        memory.settle(stage);
        scenario->finish();
    }
}

void Explorer::thread_main() {
    Explorer &self = explorer();
    self.scenario->threads[self.current]();
    self.actors[self.current].state = State::done;
    self.note("ends");
    self.switch_to(self.pick_thread());
    self.stop();
}

bool Explorer::is_enabled(unsigned thread) const {
    const Actor &actor = actors[thread];
    if (actor.state == State::asleep) {
        return actor.woken || actor.timed || interrupts < scenario->interrupts;
    }
    return actor.state == State::ready;
}

// Steps that give the same result in either order.
bool Explorer::are_independent(const Step &a, const Step &b) {
    auto is_local = [](const Step &step) { return step.act == Act::begin; };
    auto is_pause = [](const Step &step) { return step.act == Act::pause; };
    auto only_reads = [](const Step &step) { return step.act == Act::load; };
    auto queues = [](const Step &step) {
        return step.act == Act::wait || step.act == Act::wake || step.act == Act::resume;
    };
    if (is_local(a) || is_local(b)) {
        return true;
    }
    if (is_pause(a) || is_pause(b)) {
        return false;
    }
    if (a.act == Act::fence || b.act == Act::fence) {
        return a.act != b.act;
    }
    if (queues(a) || queues(b)) {
        // A wait reads half of a location whose address may differ by that half.
        auto distance =
            reinterpret_cast<std::uintptr_t>(a.object) - reinterpret_cast<std::uintptr_t>(b.object);
        bool far = distance + 8 > 16;
        return far || (only_reads(a) && only_reads(b));
    }
    return a.object != b.object || (only_reads(a) && only_reads(b));
}

// The next thread to run; `stage` when none is left or this run has nothing new.
unsigned Explorer::pick_thread() {
    for (;;) {
        std::array<unsigned, max_threads> candidates{};
        unsigned count = 0;
        bool bounded = scenario->preemptions != 0;
        bool goes_on = current != stage && is_enabled(current) && actors[current].state == State::ready;
        auto add = [&](unsigned thread) {
            if (is_enabled(thread) && (asleep_set >> thread & 1) == 0) {
                candidates[count++] = thread;
            }
        };
        if (current != stage) {
            add(current);
        }
        for (unsigned thread = 0; thread < MODEL_THREADS; thread++) {
            if (thread != current && !(bounded && goes_on && preemptions == scenario->preemptions)) {
                add(thread);
            }
        }
        if (count == 0) {
            if (asleep_set == 0 && force_progress()) {
                continue;
            }
            return stage;
        }
        unsigned index = choose(count);
        unsigned thread = candidates[index];
        if (goes_on && thread != current) {
            preemptions++;
        }
        if (!bounded) {
            for (unsigned earlier = 0; earlier < index; earlier++) {
                asleep_set |= 1u << candidates[earlier];
            }
            for (unsigned other = 0; other < MODEL_THREADS; other++) {
                if ((asleep_set >> other & 1) != 0 &&
                    !are_independent(actors[other].next, actors[thread].next)) {
                    asleep_set &= ~(1u << other);
                }
            }
        }
        return thread;
    }
}

// No thread can go on: those that spin have perhaps only not yet seen what was written.
bool Explorer::force_progress() {
    bool any_paused = false;
    bool any_left = false;
    for (unsigned thread = 0; thread < MODEL_THREADS; thread++) {
        Actor &actor = actors[thread];
        any_left = any_left || actor.state == State::paused || actor.state == State::asleep;
        if (actor.state == State::paused && !actor.stubborn) {
            any_paused = true;
            actor.state = State::ready;
            actor.stubborn = true;
            memory.settle(thread);
        }
    }
    if (!any_paused && any_left) {
        failure = "deadlock: no thread can go on";
        note(failure);
    }
    return any_paused;
}

void Explorer::switch_to(unsigned thread) {
    unsigned before = current;
    current = thread;
    if (thread != before) {
        actors[thread].fiber.resume(actors[before].fiber);
        // Someone has switched back and set `current`.
    }
}

void Explorer::stop() {
    unsigned before = current;
    current = stage;
    actors[stage].fiber.resume(actors[before].fiber);
    __builtin_unreachable();
}

void Explorer::step(Act act, const void *object) {
    if (current == stage) {
        return;
    }
    if (++steps == max_steps) {
        fail("livelock: too many steps");
    }
    actors[current].next = {act, object};
    switch_to(pick_thread());
    bool accesses = act == Act::load || act == Act::store || act == Act::update || act == Act::wait;
    if (accesses && memory.is_retired(object)) {
        fail("access to memory that has been freed");
    }
}

void Explorer::fail(const std::string &text) {
    failure = text;
    note("fails: " + text);
    if (current != stage) {
        stop();
    }
}

void Explorer::note(const std::string &text) {
    if (traces) {
        trace += "    thread " + std::to_string(current) + " " + text + "\n";
    }
}

// Whoever spins may look again.
void Explorer::wrote() {
    for (unsigned thread = 0; thread < MODEL_THREADS; thread++) {
        Actor &actor = actors[thread];
        if (thread != current) {
            actor.stubborn = false;
            if (actor.state == State::paused) {
                actor.state = State::ready;
            }
        }
    }
}

void Explorer::pause() {
    if (current == stage) {
        return;
    }
    actors[current].state = State::paused;
    step(Act::pause, nullptr);
}

int Explorer::wait(const std::uint32_t *word, std::uint32_t expected, std::uint64_t deadline_ns) {
    step(Act::wait, word);
    Actor &actor = actors[current];
    memory.enter_queue(current, word);
    std::uint32_t value = memory.load_word(current, word);
    memory.leave_queue(current, word);
    if (value != expected) {
        note("does not sleep, the word is " + std::to_string(value));
        return HRT_EAGAIN;
    }
    note("sleeps");
    actor.state = State::asleep;
    actor.woken = false;
    actor.timed = deadline_ns != HRT_FOREVER && (scenario->fault & MODEL_NO_DEADLINE) == 0;
    sleepers.push_back(current);
    step(Act::resume, word);
    actor.state = State::ready;
    if (actor.woken) {
        memory.enter_queue(current, word);
        note("is woken");
        return HRT_OK;
    }
    sleepers.erase(std::find(sleepers.begin(), sleepers.end(), current));
    bool interrupted = interrupts < scenario->interrupts && (!actor.timed || choose(2) == 1);
    interrupts += interrupted ? 1 : 0;
    note(interrupted ? "is interrupted" : "times out");
    for (unsigned thread = 0; !interrupted && deadline_ns >= MODEL_LONG_NS && thread < MODEL_THREADS;
         thread++) {
        memory.settle(thread);
    }
    return interrupted ? HRT_EINTR : HRT_ETIMEDOUT;
}

std::uint32_t Explorer::wake(const std::uint32_t *word, std::uint32_t count) {
    step(Act::wake, word);
    memory.enter_queue(current, word);
    memory.leave_queue(current, word);
    std::uint32_t woken = 0;
    if ((scenario->fault & MODEL_NO_WAKE) != 0) {
        return woken;
    }
    for (std::size_t i = 0; i < sleepers.size() && woken < count;) {
        Actor &actor = actors[sleepers[i]];
        if (actor.next.object == word) {
            actor.woken = true;
            sleepers.erase(sleepers.begin() + static_cast<std::ptrdiff_t>(i));
            woken++;
        } else {
            i++;
        }
    }
    note("wakes " + std::to_string(woken));
    return woken;
}

} // namespace model
