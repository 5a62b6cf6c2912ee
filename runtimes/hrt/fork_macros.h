/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* For assembly sources: both ends of a fork, which threads and fibers share. clang-format is for C. */
/* clang-format off */

/* Calls `function` with a struct hrt_forking: the caller's registers, and the arguments, so that the function has
 * to keep nothing else in registers. */
.macro with_registers name, function
    .globl \name
    .type \name, @function
    .balign 16
\name:
    .cfi_startproc
    lea rax, [rsp + 8]
    sub rsp, 16
    push rdx
    push rsi
    push rdi
    push r15
    push r14
    push r13
    push r12
    push rbx
    push rbp
    push rax
    push [rax - 8]
    .cfi_adjust_cfa_offset 104
    mov rdi, rsp
    call \function\()@PLT
    add rsp, 104
    .cfi_adjust_cfa_offset -104
    ret
    .cfi_endproc
    .size \name, . - \name
.endm

/* The function of a child has returned: its result is in rax, the owner on top of the stack. No frame is above:
 * unwinders stop here. They look the return address up at the byte before it, hence the nop. */
.macro end_of_child name, function
    .type \name, @function
    .balign 16
    .cfi_startproc
    .cfi_undefined rip
    nop
    .globl \name
\name:
    pop rdi
    mov rsi, rax
    and rsp, -16
    call \function\()@PLT
    ud2
    .cfi_endproc
    .size \name, . - \name
.endm

