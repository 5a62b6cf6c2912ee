// SPDX-License-Identifier: Apache-2.0 OR MIT
// __kmpc_fork_call(location, int32_t count, code, ...): a variadic function in C++ would save all registers
// that may have arguments, though there are few of them nearly always.

    .intel_syntax noprefix
    .text

    .globl __kmpc_fork_call
    .type __kmpc_fork_call, @function
    .balign 16
__kmpc_fork_call:
    .cfi_startproc
    cmp esi, 3
    jg hadal_omp_fork_many
    jmp hadal_omp_fork_few
    .cfi_endproc
    .size __kmpc_fork_call, . - __kmpc_fork_call

    .section .note.GNU-stack, "", @progbits
