// SPDX-License-Identifier: Apache-2.0 OR MIT
// Failures: texts.
#include "ndpc/error.h"

#include <cstdio>

#include "ndpc/seq.h"

namespace ndpc {

__attribute__((cold, noinline)) void note(const Site &site, const char *format, std::int64_t first,
                                          std::int64_t second) {
    worker().failure = {&site, format, first, second};
}

__attribute__((cold, noinline)) void note_memory(const Site &site, std::int64_t items,
                                                 std::int64_t item_bytes) {
    if (items > longest_sequence) {
        note(site, "Sequence too long: %lld elements, %lld is the most.", items, longest_sequence);
    } else {
        note(site, "Out of memory: no %lld bytes for a sequence of %lld elements.", items * item_bytes,
             items);
    }
}

__attribute__((cold, noinline)) void note_depth(const Site &site) {
    // Without its size: which worker's it is depends on the run.
    note(site, "Recursion too deep: the stack is used up.", 0, 0);
}

__attribute__((cold, noinline)) void leave(int status) { throw Failing{status}; }

// Made only here, where the program is at its end: a failure itself needs no memory.
const char *failure_text() {
    constexpr int text_bytes = 160, place_bytes = 400;
    static thread_local char text[text_bytes + place_bytes];
    const Failure &failure = worker().failure;
    if (!failure.site) {
        return "";
    }
    char what[text_bytes];
    std::snprintf(what, sizeof what, failure.format, static_cast<long long>(failure.first),
                  static_cast<long long>(failure.second));
    std::snprintf(text, sizeof text, "RUNTIME ERROR: %s\n  in %s, %s", what, failure.site->function,
                  failure.site->position);
    return text;
}

void clear_failure() { worker().failure.site = nullptr; }

} // namespace ndpc
