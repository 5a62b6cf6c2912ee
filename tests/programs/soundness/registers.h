// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Assembly pieces of the ring-0 tests: each does something that a compiler may do and the kernel must
// survive.

#ifndef HADAL_TEST_REGISTERS_H
#define HADAL_TEST_REGISTERS_H

#include <stdint.h>

// Fills the 128 bytes below the stack pointer, waits a little, and compares; `rounds` times, as a leaf
// function. Returns the number of words that changed.
uint64_t red_zone_spin(uint64_t rounds, uint64_t seed);

// The registers around one system call, in the order of the assembly.
struct call_registers {
    uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15;
    // How many of the 16 words of the live red zone changed over the call.
    uint64_t red_zone_changes;
    // Flags after the call.
    uint64_t flags;
};

// Makes the system call `in->rax` with every register as in `in` and a live red zone, and stores all after
// it.
void call_with_red_zone(const struct call_registers *in, struct call_registers *out);

// Makes a system call of up to three arguments with the stack pointer at `stack`, which need not be mapped.
long call_on_stack(long number, long a, long b, long c, uint64_t stack);

// Writes `value` to the FS base and reads it back `rounds` times, then restores the old value.
// Returns how often it differed.
uint64_t fs_base_spin(uint64_t value, uint64_t rounds);

// Load every vector register from `from`, wait `rounds` turns of a loop, and store them to `to`.
void vectors_sse(const void *from, void *to, uint64_t rounds);
void vectors_avx(const void *from, void *to, uint64_t rounds);
// 32 registers of 64 bytes, then 8 mask registers of 8 bytes.
void vectors_avx512(const void *from, void *to, uint64_t rounds);
void vectors_avx512bw(const void *from, void *to, uint64_t rounds);

// The same around a system call of no arguments.
void vectors_sse_call(const void *from, void *to, long number);
void vectors_avx_call(const void *from, void *to, long number);
void vectors_avx512bw_call(const void *from, void *to, long number);

// A loop that never ends and calls nothing.
void spin_forever(void);

#endif
