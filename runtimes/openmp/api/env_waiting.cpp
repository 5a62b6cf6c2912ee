// SPDX-License-Identifier: Apache-2.0 OR MIT
// How threads wait and how large their stacks are: OMP_WAIT_POLICY, OMP_STACKSIZE, what other run-times call
// them, and HADAL_OMP_IRQ.
#include "environment.h"

#include <climits>
#include <sys/resource.h>

namespace hadal::omp {

namespace {

// Long enough for the serial parts between most regions; short for whoever else needs the CPU.
constexpr uint64_t BLOCKTIME_NS = 2000000;
// About what one turn of libgomp's waiting takes.
constexpr uint64_t SPIN_NS = 10;
constexpr uint64_t STACK_BYTES = 8 << 20, STACK_BYTES_MIN = 64 << 10;

void wait_for_ns(uint64_t time_ns) {
    settings.blocktime_ns = time_ns;
    settings.wait_policy = time_ns == 0 ? WaitPolicy::Passive : WaitPolicy::Hybrid;
}

bool is_infinite(Text *text) {
    return (text->take_word("infinite") || text->take_word("infinity")) && text->is_over();
}

// KMP_BLOCKTIME: milliseconds, or with a unit, or infinite.
void read_blocktime(const char *value) {
    Text text(value);
    if (is_infinite(&text)) {
        settings.wait_policy = WaitPolicy::Active;
        return;
    }
    uint64_t time, unit_ns = 1000000;
    bool is_number = text.take_number(&time);
    if (text.take_word("us")) {
        unit_ns = 1000;
    } else {
        text.take_word("ms");
    }
    if (!is_number || !text.is_over()) {
        bad_value("KMP_BLOCKTIME", value, "a time in milliseconds, or infinite", "%llu ms",
                  static_cast<unsigned long long>(settings.blocktime_ns / 1000000));
    } else if (time >= INT_MAX) {
        settings.wait_policy = WaitPolicy::Active;
    } else {
        wait_for_ns(time * unit_ns);
    }
}

// GOMP_SPINCOUNT: turns, with a suffix for powers of ten, or infinite.
void read_spincount(const char *value) {
    Text text(value);
    if (is_infinite(&text)) {
        settings.wait_policy = WaitPolicy::Active;
        return;
    }
    uint64_t turns, factor = 1;
    bool is_number = text.take_number(&turns);
    constexpr struct {
        char suffix;
        uint64_t factor;
    } suffixes[] = {{'k', 1000}, {'m', 1000000}, {'g', 1000000000}, {'t', 1000000000000}};
    for (auto [suffix, meant] : suffixes) {
        if (text.take(suffix) || text.take(static_cast<char>(suffix - 'a' + 'A'))) {
            factor = meant;
            break;
        }
    }
    uint64_t time_ns;
    if (!is_number || !text.is_over()) {
        bad_value("GOMP_SPINCOUNT", value, "a number, or infinite", "the default");
    } else if (__builtin_mul_overflow(turns, factor * SPIN_NS, &time_ns) || time_ns > 1000000000000) {
        settings.wait_policy = WaitPolicy::Active;
    } else {
        wait_for_ns(time_ns);
    }
}

// As much as programs expect without a variable: what the initial thread has.
uint64_t initial_stack_bytes() {
    struct rlimit limit;
    bool is_known = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return is_known && limit.rlim_cur > STACK_BYTES_MIN ? limit.rlim_cur : STACK_BYTES;
}

// A size with an optional unit; K without.
bool read_size(const char *name) {
    const char *value = variable(name);
    if (value == nullptr) {
        return false;
    }
    Text text(value);
    uint64_t size, unit = 1024;
    bool is_number = text.take_number(&size);
    constexpr struct {
        char suffix;
        uint64_t unit;
    } suffixes[] = {{'b', 1}, {'k', 1ull << 10}, {'m', 1ull << 20}, {'g', 1ull << 30}, {'t', 1ull << 40}};
    for (auto [suffix, meant] : suffixes) {
        if (text.take(suffix) || text.take(static_cast<char>(suffix - 'a' + 'A'))) {
            unit = meant;
            text.take_word("b"); // KB, as other run-times allow
            break;
        }
    }
    uint64_t bytes;
    if (!is_number || !text.is_over() || size == 0 || __builtin_mul_overflow(size, unit, &bytes) ||
        bytes > 1ull << 46) {
        bad_value(name, value, "a size, such as 512K or 16M", "the default");
        return false;
    }
    if (bytes < STACK_BYTES_MIN) {
        bad_value(name, value, "enough for a stack", "%lluK",
                  static_cast<unsigned long long>(STACK_BYTES_MIN >> 10));
        bytes = STACK_BYTES_MIN;
    }
    settings.stack_bytes = bytes;
    return true;
}

} // namespace

void read_waiting() {
    settings.blocktime_ns = BLOCKTIME_NS;
    const char *spincount = variable("GOMP_SPINCOUNT"), *blocktime = variable("KMP_BLOCKTIME");
    const char *library = variable("KMP_LIBRARY");
    if (library != nullptr) {
        Text text(library);
        if (text.take_word("turnaround")) {
            settings.wait_policy = WaitPolicy::Active;
        } else if (!text.take_word("throughput") && !text.take_word("serial")) {
            bad_value("KMP_LIBRARY", library, "throughput, turnaround or serial", "throughput");
        }
    }
    if (blocktime != nullptr) {
        read_blocktime(blocktime);
    } else if (spincount != nullptr) {
        read_spincount(spincount);
    }
    // The standard's name is the last to say.
    if (const char *value = variable("OMP_WAIT_POLICY")) {
        Text text(value);
        if (text.take_word("active") && text.is_over()) {
            settings.wait_policy = WaitPolicy::Active;
        } else if (text.take_word("passive") && text.is_over()) {
            settings.wait_policy = WaitPolicy::Passive;
        } else {
            bad_value("OMP_WAIT_POLICY", value, "active or passive", "the default");
        }
    }
    bool irq_on = true;
    read_bool("HADAL_OMP_IRQ", &irq_on);
    settings.irq_off = !irq_on;
}

void read_stack() {
    if (!read_size("OMP_STACKSIZE") && !read_size("GOMP_STACKSIZE")) {
        if (!read_size("KMP_STACKSIZE")) {
            settings.stack_bytes = initial_stack_bytes();
        }
    }
}

} // namespace hadal::omp
