/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Functions whose unwind tables take very long to read: one has millions of instructions, the other an
 * expression without an end. The second calls the first.
 */
#include <stdio.h>

void read_for_ever(unsigned long count);
void evaluated_for_ever(unsigned long count);

__asm__(".text\n"
        ".globl read_for_ever\n"
        ".type read_for_ever, @function\n"
        "read_for_ever:\n"
        ".cfi_startproc\n"
        /* DW_CFA_GNU_args_size changes nothing. */
        ".rept 1000000\n"
        ".cfi_escape 0x2e, 0, 0x2e, 0, 0x2e, 0, 0x2e, 0\n"
        ".endr\n"
        "1: dec %rdi\n"
        "jnz 1b\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size read_for_ever, . - read_for_ever\n"
        ".globl evaluated_for_ever\n"
        ".type evaluated_for_ever, @function\n"
        "evaluated_for_ever:\n"
        ".cfi_startproc\n"
        /* DW_CFA_def_cfa_expression: DW_OP_skip to itself. */
        ".cfi_escape 0x0f, 3, 0x2f, 0xfd, 0xff\n"
        "push %rdi\n"
        "2: dec %rdi\n"
        "jnz 2b\n"
        "pop %rdi\n"
        "call read_for_ever\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size evaluated_for_ever, . - evaluated_for_ever\n");

int main(void) {
    evaluated_for_ever(300000000);
    puts("done");
    return 0;
}
