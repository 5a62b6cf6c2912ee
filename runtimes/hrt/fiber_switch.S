// SPDX-License-Identifier: Apache-2.0 OR MIT
// The switch between fibers: what the C ABI keeps across calls, and the C++ run-time's note of exceptions in
// flight. Other registers are dead at a call.

#define LOCAL_FIBERS 8
#define FIBERS_CURRENT 0
#define FIBERS_EXCEPTIONS 8
#define FIBER_STACK_POINTER 0
#define FIBER_NEXT 8
#define FIBER_EXCEPTIONS 16
#define FORK_CHILD -1

    .intel_syntax noprefix
    .text

#include "fork_macros.h"

// bool hrt_fiber_yield(void)
    .globl hrt_fiber_yield
    .type hrt_fiber_yield, @function
    .balign 16
hrt_fiber_yield:
    .cfi_startproc
    mov rax, hrt_local@gottpoff[rip]
    mov rdx, fs:[rax + LOCAL_FIBERS]
    test rdx, rdx
    jz 1f
    mov rdi, [rdx + FIBERS_CURRENT]
    mov rsi, [rdi + FIBER_NEXT]
    cmp rsi, rdi
    jne hrt_fiber_switch
1:
    xor eax, eax
    ret
    .cfi_endproc
    .size hrt_fiber_yield, . - hrt_fiber_yield

// void hrt_fiber_switch(struct hrt_fiber *from, struct hrt_fiber *to, struct hrt_fibers *fibers): true for yield.
    .globl hrt_fiber_switch
    .hidden hrt_fiber_switch
    .type hrt_fiber_switch, @function
    .balign 16
hrt_fiber_switch:
    .cfi_startproc
    push rbp
    push rbx
    push r12
    push r13
    push r14
    push r15
    sub rsp, 8
    .cfi_adjust_cfa_offset 56
    .cfi_rel_offset rbp, 48
    .cfi_rel_offset rbx, 40
    .cfi_rel_offset r12, 32
    .cfi_rel_offset r13, 24
    .cfi_rel_offset r14, 16
    .cfi_rel_offset r15, 8
    stmxcsr [rsp]
    fnstcw [rsp + 4]
    mov rcx, [rdx + FIBERS_EXCEPTIONS]
    movups xmm0, [rcx]
    movups [rdi + FIBER_EXCEPTIONS], xmm0
    movups xmm0, [rsi + FIBER_EXCEPTIONS]
    movups [rcx], xmm0
    mov [rdi + FIBER_STACK_POINTER], rsp
    mov [rdx + FIBERS_CURRENT], rsi
    mov rsp, [rsi + FIBER_STACK_POINTER]
    ldmxcsr [rsp]
    fldcw [rsp + 4]
    add rsp, 8
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbx
    pop rbp
    .cfi_adjust_cfa_offset -56
    mov eax, 1
    ret
    .cfi_endproc
    .size hrt_fiber_switch, . - hrt_fiber_switch

// The first switch to a fiber arrives here, with the fiber in rbx. No frame is above.
    .type hrt_fiber_start, @function
    .balign 16
    .cfi_startproc
    .cfi_undefined rip
    nop
    .globl hrt_fiber_start
    .hidden hrt_fiber_start
hrt_fiber_start:
    mov rdi, rbx
    call hrt_fiber_main@PLT
    ud2
    .cfi_endproc
    .size hrt_fiber_start, . - hrt_fiber_start

// The first switch to a forked fiber arrives here: into the function that forked, as its child.
    .globl hrt_fiber_start_fork
    .hidden hrt_fiber_start_fork
    .type hrt_fiber_start_fork, @function
    .balign 16
hrt_fiber_start_fork:
    mov eax, FORK_CHILD
    ret
    .size hrt_fiber_start_fork, . - hrt_fiber_start_fork

// int hrt_fiber_fork_frame(hrt_fiber_t **child, void *frame)
    with_registers hrt_fiber_fork_frame, hrt_fork_fiber
// Ends with hrt_fiber_end(fiber, result).
    end_of_child hrt_fork_fiber_end, hrt_fiber_end

    .section .note.GNU-stack, "", @progbits
