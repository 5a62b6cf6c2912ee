// SPDX-License-Identifier: Apache-2.0 OR MIT
// Fibers for the threads of a scenario: a stack each, and a switch without system calls.
#pragma once

#include <cstddef>
#include <memory>

namespace model {

class Fiber {
  public:
    // Prepares the fiber to run entry() when it is next switched to; what it did before is forgotten.
    void prepare(void (*entry)());
    // Leaves `from` and continues this one.
    void resume(Fiber &from);

  private:
    static constexpr std::size_t stack_bytes = 64 << 10;
    std::unique_ptr<std::byte[]> stack;
    void *stack_pointer = nullptr;
};

} // namespace model
