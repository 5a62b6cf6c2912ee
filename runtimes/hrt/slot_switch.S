// SPDX-License-Identifier: Apache-2.0 OR MIT
// Where a slot's loop begins, begins again, and ends. The loop keeps nothing on its stack from one piece of
// work to the next, so beginning again is setting the stack pointer.

#define SLOT_EXIT_STACK 0
#define SLOT_BYTES 64
#define SLOT_ALIGN 1024
#define FORK_BYTES 512

    .intel_syntax noprefix
    .text

// void hrt_slot_run(const struct hrt_slot_kind *kind)
    .globl hrt_slot_run
    .type hrt_slot_run, @function
    .balign 16
hrt_slot_run:
    .cfi_startproc
    push rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbp, 0
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    push rbx
    push r12
    push r13
    push r14
    push r15
    .cfi_rel_offset rbx, -8
    .cfi_rel_offset r12, -16
    .cfi_rel_offset r13, -24
    .cfi_rel_offset r14, -32
    .cfi_rel_offset r15, -40
    mov rax, rsp
    sub rsp, SLOT_BYTES
    and rsp, -SLOT_ALIGN
    mov [rsp + SLOT_EXIT_STACK], rax
    mov rsi, rdi
    mov rdi, rsp
    sub rsp, FORK_BYTES
    call hrt_slot_begin@PLT
    ud2
    .cfi_endproc
    .size hrt_slot_run, . - hrt_slot_run

// _Noreturn void hrt_slot_end(struct hrt_slot *slot): returns from hrt_slot_run.
    .globl hrt_slot_end
    .hidden hrt_slot_end
    .type hrt_slot_end, @function
    .balign 16
hrt_slot_end:
    mov rsp, [rdi + SLOT_EXIT_STACK]
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbx
    pop rbp
    ret
    .size hrt_slot_end, . - hrt_slot_end

// _Noreturn void hrt_slot_restart(struct hrt_slot *slot, void *result)
    .globl hrt_slot_restart
    .type hrt_slot_restart, @function
    .balign 16
hrt_slot_restart:
    .cfi_startproc
    .cfi_undefined rip
    lea rsp, [rdi - FORK_BYTES]
    call hrt_slot_next@PLT
    ud2
    .cfi_endproc
    .size hrt_slot_restart, . - hrt_slot_restart

// void hrt_slot_bare(const struct hrt_slot_kind *kind): the entry of a slot without a libc thread, which ends by
// the system call exit.
    .globl hrt_slot_bare
    .hidden hrt_slot_bare
    .type hrt_slot_bare, @function
    .balign 16
hrt_slot_bare:
    .cfi_startproc
    .cfi_undefined rip
    and rsp, -16
    call hrt_slot_run
    xor edi, edi
    mov eax, 60
    syscall
    ud2
    .cfi_endproc
    .size hrt_slot_bare, . - hrt_slot_bare

    .section .note.GNU-stack, "", @progbits
