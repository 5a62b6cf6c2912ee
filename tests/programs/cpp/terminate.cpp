// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// An exception that nobody catches ends the program by abort.

#include <stdexcept>

__attribute__((noinline)) static void throw_uncaught() { throw std::runtime_error("nobody catches this"); }

int main() {
    throw_uncaught();
    return 0;
}
