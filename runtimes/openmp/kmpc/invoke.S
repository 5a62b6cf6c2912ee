// SPDX-License-Identifier: Apache-2.0 OR MIT
// Calls of functions with any number of arguments.

    .intel_syntax noprefix
    .text

// void hadal_omp_invoke(void *code, int32_t *gtid, int32_t *number, uint32_t count, void **arguments):
// code(gtid, number, arguments[0], ..., arguments[count - 1]). The first four are read always.
    .globl hadal_omp_invoke_framed
    .hidden hadal_omp_invoke_framed
    .type hadal_omp_invoke_framed, @function
    .balign 16
hadal_omp_invoke_framed:
    .cfi_startproc
    // What hadal_omp_invoke has in rbp.
    lea rax, [rsp - 8]
    mov [r9], rax
    jmp hadal_omp_invoke
    .cfi_endproc
    .size hadal_omp_invoke_framed, . - hadal_omp_invoke_framed

    .globl hadal_omp_invoke
    .hidden hadal_omp_invoke
    .type hadal_omp_invoke, @function
    .balign 16
hadal_omp_invoke:
    .cfi_startproc
    push rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbp, 0
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    mov r11, rdi
    mov rdi, rsi
    mov rsi, rdx
    mov r10, r8
    sub ecx, 4
    jbe 2f
    // Those that registers have no room for, in pairs, so that the stack stays aligned.
    lea eax, [rcx + 1]
    and eax, -2
    shl rax, 3
    sub rsp, rax
1:
    dec ecx
    mov rax, [r10 + 8 * rcx + 32]
    mov [rsp + 8 * rcx], rax
    jnz 1b
2:
    mov rdx, [r10]
    mov rcx, [r10 + 8]
    mov r8, [r10 + 16]
    mov r9, [r10 + 24]
    // The code is called as a variadic function, too: no arguments in vector registers.
    xor eax, eax
    call r11
    leave
    .cfi_def_cfa rsp, 8
    ret
    .cfi_endproc
    .size hadal_omp_invoke, . - hadal_omp_invoke

    .section .note.GNU-stack, "", @progbits
