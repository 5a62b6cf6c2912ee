// SPDX-License-Identifier: Apache-2.0 OR MIT
// Fork: how a child takes over the registers of the function that forked, and where that function returns to.
// fork.c says what is copied.

#define CHILD_RIP 0
#define CHILD_RSP 8
#define CHILD_RBP 16
#define CHILD_RBX 24
#define CHILD_R12 32
#define CHILD_R13 40
#define CHILD_R14 48
#define CHILD_R15 56
#define CHILD_SOURCE 64
#define CHILD_WORDS 72
#define FORK_CHILD -1
#define SLOT_CHILD 48
#define SLOT_ALIGN 1024
#define CHILD_AWAITED 1

    .intel_syntax noprefix
    .text

#include "fork_macros.h"

// int hrt_fork_frame(const struct hrt_thread_attr *attr, hrt_thread_t *child, void *frame)
    with_registers hrt_fork_frame, hrt_fork_thread
// void *hrt_fork_resume(void *stack)
    .globl hrt_fork_resume
    .type hrt_fork_resume, @function
    .balign 16
hrt_fork_resume:
    .cfi_startproc
    .cfi_undefined rip
    and rdi, -SLOT_ALIGN
    add rdi, SLOT_ALIGN
3:
    mov rax, [rdi + SLOT_CHILD]
    cmp rax, CHILD_AWAITED
    jbe 2f
    mov qword ptr [rdi + SLOT_CHILD], 0
    mov rcx, [rax + CHILD_WORDS]
    mov rdx, [rax + CHILD_RIP]
    mov rbp, [rax + CHILD_RBP]
    mov rbx, [rax + CHILD_RBX]
    mov r12, [rax + CHILD_R12]
    mov r13, [rax + CHILD_R13]
    mov r14, [rax + CHILD_R14]
    mov r15, [rax + CHILD_R15]
    // Last: what is near may lie below it, where a signal's frame goes. What is at the far end does not, and its place has
    // to be above the stack pointer before it is filled.
    mov rsp, [rax + CHILD_RSP]
    jrcxz 1f
    mov rsi, [rax + CHILD_SOURCE]
    mov rdi, rsp
    rep movsq
1:
    mov eax, FORK_CHILD
    jmp rdx
2:
    push rdi
    call hrt_fork_wait@PLT
    pop rdi
    jmp 3b
    .cfi_endproc
    .size hrt_fork_resume, . - hrt_fork_resume

// Ends with hrt_slot_restart(slot, result).
    end_of_child hrt_fork_thread_end, hrt_slot_restart

    .section .note.GNU-stack, "", @progbits
