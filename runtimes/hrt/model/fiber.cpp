// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "fiber.hpp"

#include <cstdint>
#include <cstdlib>

// Saves the callee-saved registers and the stack pointer, and loads the other's.
extern "C" void model_switch(void **save, void *load);
asm(R"(
    .text
    .globl model_switch
model_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
)");

namespace model {

void Fiber::prepare(void (*entry)()) {
    if (!stack) {
        stack = std::make_unique<std::byte[]>(stack_bytes);
    }
    auto top = (reinterpret_cast<std::uintptr_t>(stack.get()) + stack_bytes) & ~std::uintptr_t{15};
    auto *frame = reinterpret_cast<void **>(top);
    *--frame = reinterpret_cast<void *>(&std::abort); // entry never returns
    *--frame = reinterpret_cast<void *>(entry);
    frame -= 6; // callee-saved registers, whatever they hold
    stack_pointer = frame;
}

void Fiber::resume(Fiber &from) { model_switch(&from.stack_pointer, stack_pointer); }

} // namespace model
