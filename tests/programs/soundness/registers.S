// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// See registers.h. Calling convention of System V; no frame is made, so the red zone below RSP is in use.

    .text

    .macro function name
    .globl \name
    .type \name, @function
    .balign 16
\name:
    .endm

    .macro end_function name
    .size \name, . - \name
    .endm

// uint64_t red_zone_spin(uint64_t rounds, uint64_t seed)
function red_zone_spin
    xorl %eax, %eax
1:  movl $16, %ecx
2:  leaq (%rsi,%rcx), %rdx
    negq %rcx
    movq %rdx, (%rsp,%rcx,8)
    negq %rcx
    decq %rcx
    jnz 2b
    movl $400, %r8d
3:  decl %r8d
    jnz 3b
    movl $16, %ecx
4:  leaq (%rsi,%rcx), %rdx
    negq %rcx
    cmpq %rdx, (%rsp,%rcx,8)
    je 5f
    incq %rax
5:  negq %rcx
    decq %rcx
    jnz 4b
    incq %rsi
    decq %rdi
    jnz 1b
    ret
end_function red_zone_spin

// void call_with_red_zone(const struct call_registers *in, struct call_registers *out)
//
// `out` is kept in the red zone itself, at -8; the other fifteen words hold a pattern.
function call_with_red_zone
    pushq %rbx
    pushq %rbp
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsi, -8(%rsp)
    movl $15, %ecx
1:  movabsq $0x1122334455667700, %rdx
    addq %rcx, %rdx
    negq %rcx
    movq %rdx, -8(%rsp,%rcx,8)
    negq %rcx
    decq %rcx
    jnz 1b
    movq 0(%rdi), %rax
    movq 8(%rdi), %rbx
    movq 24(%rdi), %rdx
    movq 32(%rdi), %rsi
    movq 48(%rdi), %rbp
    movq 56(%rdi), %r8
    movq 64(%rdi), %r9
    movq 72(%rdi), %r10
    movq 88(%rdi), %r12
    movq 96(%rdi), %r13
    movq 104(%rdi), %r14
    movq 112(%rdi), %r15
    movq 40(%rdi), %rdi
    syscall
    // RCX and R11 belong to the call; R11 carries the place for the results.
    movq -8(%rsp), %r11
    movq %rax, 0(%r11)
    movq %rbx, 8(%r11)
    movq %rcx, 16(%r11)
    movq %rdx, 24(%r11)
    movq %rsi, 32(%r11)
    movq %rdi, 40(%r11)
    movq %rbp, 48(%r11)
    movq %r8, 56(%r11)
    movq %r9, 64(%r11)
    movq %r10, 72(%r11)
    movq %r12, 88(%r11)
    movq %r13, 96(%r11)
    movq %r14, 104(%r11)
    movq %r15, 112(%r11)
    xorl %eax, %eax
    movl $15, %ecx
2:  movabsq $0x1122334455667700, %rdx
    addq %rcx, %rdx
    negq %rcx
    cmpq %rdx, -8(%rsp,%rcx,8)
    je 3f
    incq %rax
3:  negq %rcx
    decq %rcx
    jnz 2b
    movq %rax, 120(%r11)
    pushfq
    popq %rax
    movq %rax, 128(%r11)
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbp
    popq %rbx
    ret
end_function call_with_red_zone

// long call_on_stack(long number, long a, long b, long c, uint64_t stack)
function call_on_stack
    pushq %rbx
    pushq %r12
    movq %rdi, %rax
    movq %rsi, %rdi
    movq %rdx, %rsi
    movq %rcx, %rdx
    movq %rsp, %rbx
    movq %r8, %r12
    xorl %r10d, %r10d
    xorl %r9d, %r9d
    movq %r12, %rsp
    xorl %r8d, %r8d
    syscall
    // The stack pointer came back as it went in.
    cmpq %r12, %rsp
    movq %rbx, %rsp
    je 1f
    ud2
1:  popq %r12
    popq %rbx
    ret
end_function call_on_stack

// uint64_t fs_base_spin(uint64_t value, uint64_t rounds)
function fs_base_spin
    rdfsbase %r8
    wrfsbase %rdi
    xorl %eax, %eax
1:  rdfsbase %rdx
    cmpq %rdi, %rdx
    je 2f
    incq %rax
2:  decq %rsi
    jnz 1b
    wrfsbase %r8
    ret
end_function fs_base_spin

    .macro wait_a_while
1:  decq %rdx
    jnz 1b
    .endm

    // A system call whose number is in RDX; it uses no argument.
    .macro call_in_between
    movq %rdx, %rax
    pushq %rsi
    pushq %rdi
    syscall
    popq %rdi
    popq %rsi
    .endm

    .macro sse_all base, order
    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    .ifc \order, load
    movdqu 16*\n(\base), %xmm\n
    .else
    movdqu %xmm\n, 16*\n(\base)
    .endif
    .endr
    .endm

    .macro avx_all base, order
    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    .ifc \order, load
    vmovdqu 32*\n(\base), %ymm\n
    .else
    vmovdqu %ymm\n, 32*\n(\base)
    .endif
    .endr
    .endm

    .macro avx512_all base, order
    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    .ifc \order, load
    vmovdqu64 64*\n(\base), %zmm\n
    .else
    vmovdqu64 %zmm\n, 64*\n(\base)
    .endif
    .endr
    .endm

    .macro masks_all move, base, order
    .irp n, 0,1,2,3,4,5,6,7
    .ifc \order, load
    \move 2048+8*\n(\base), %k\n
    .else
    \move %k\n, 2048+8*\n(\base)
    .endif
    .endr
    .endm

function vectors_sse
    sse_all %rdi, load
    wait_a_while
    sse_all %rsi, store
    ret
end_function vectors_sse

function vectors_avx
    avx_all %rdi, load
    wait_a_while
    avx_all %rsi, store
    vzeroupper
    ret
end_function vectors_avx

function vectors_avx512
    avx512_all %rdi, load
    masks_all kmovw, %rdi, load
    wait_a_while
    avx512_all %rsi, store
    masks_all kmovw, %rsi, store
    vzeroupper
    ret
end_function vectors_avx512

function vectors_avx512bw
    avx512_all %rdi, load
    masks_all kmovq, %rdi, load
    wait_a_while
    avx512_all %rsi, store
    masks_all kmovq, %rsi, store
    vzeroupper
    ret
end_function vectors_avx512bw

function vectors_sse_call
    sse_all %rdi, load
    call_in_between
    sse_all %rsi, store
    ret
end_function vectors_sse_call

function vectors_avx_call
    avx_all %rdi, load
    call_in_between
    avx_all %rsi, store
    vzeroupper
    ret
end_function vectors_avx_call

function vectors_avx512bw_call
    avx512_all %rdi, load
    masks_all kmovq, %rdi, load
    call_in_between
    avx512_all %rsi, store
    masks_all kmovq, %rsi, store
    vzeroupper
    ret
end_function vectors_avx512bw_call

function spin_forever
1:  jmp 1b
end_function spin_forever

    .section .note.GNU-stack, "", @progbits
