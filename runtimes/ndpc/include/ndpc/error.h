// SPDX-License-Identifier: Apache-2.0 OR MIT
// Failures: how an operation says that it failed, where, and why. The run-time's functions return a status.
// Translated functions return their results, and throw a status: it costs nothing where nothing fails.
// Whoever runs the elements of a loop catches it, and so does the function by which others enter. The text
// waits at the worker until somebody takes it, so that it is told once.
#ifndef NDPC_ERROR_H
#define NDPC_ERROR_H

#include <cstdint>

#ifndef __cpp_exceptions
#error "translated programs throw what fails: compile without -fno-exceptions"
#endif

namespace ndpc {

// A place in a source file. Generated code has one constant for each operation that can fail.
struct Site {
    const char *function;
    const char *position; // file:line:column
};

// 0 is success.
enum Status : int {
    done = 0,
    failed = 1,   // the worker has the failure
    cancelled = 2 // an earlier element of a loop around has failed: nobody needs the result
};

// What there is to tell of a failure; a text is made of it at the end.
struct Failure {
    const Site *site;
    const char *format;
    std::int64_t first, second;
};

// Keep the failure at the worker. `format` takes up to two numbers, as %lld.
void note(const Site &site, const char *format, std::int64_t first, std::int64_t second);
void note_memory(const Site &site, std::int64_t items, std::int64_t item_bytes);

// The same, and gives the status: in sight of compilers, which then know that it is not `done`.
inline int fail(const Site &site, const char *format, std::int64_t first = 0, std::int64_t second = 0) {
    note(site, format, first, second);
    return failed;
}
inline int fail_memory(const Site &site, std::int64_t items, std::int64_t item_bytes) {
    note_memory(site, items, item_bytes);
    return failed;
}

// What translated functions throw.
struct Failing {
    int status;
};

// Throws a status other than `done`.
[[noreturn]] void leave(int status);

// Calls what may throw, and gives a status in any case.
template <class Call> int status_of(const Call &call) {
    try {
        return call();
    } catch (const Failing &failing) {
        return failing.status;
    }
}

// The calling thread's last failure: text and place in one line each, as users see them. Empty if there is
// none.
const char *failure_text();
void clear_failure();

} // namespace ndpc

// In translated functions: leaves them when an operation has failed. With templates there may be commas in
// its text.
#define NDPC_CHECK(...)                                                                                      \
    do {                                                                                                     \
        if (int status_ = (__VA_ARGS__); __builtin_expect(status_ != 0, 0)) {                                \
            ndpc::leave(status_);                                                                            \
        }                                                                                                    \
    } while (false)

// In the run-time's: returns the status.
#define NDPC_TRY(...)                                                                                        \
    do {                                                                                                     \
        if (int status_ = (__VA_ARGS__); __builtin_expect(status_ != 0, 0)) {                                \
            return status_;                                                                                  \
        }                                                                                                    \
    } while (false)

#endif
