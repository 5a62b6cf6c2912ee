# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# A boot sector that asks a machine of two processors whether MONITOR notices stores. It owes nothing to Hadal: it is the
# evidence for docs/decisions/0031. The second processor monitors a word and sleeps (MWAIT); the first, which has stored to
# the word's page before, so that its TLB allows it to, stores to the word. Five cases, told on COM1:
#   1. the word's linear address is its physical one
#   2. the word is mapped elsewhere
#   3. as 2, but the first processor forgets its translation (INVLPG) before the store
#   4. as 3, but the second processor reads the word, and something else, before it monitors the word, as idle loops do
#   5. as 4, but the second processor forgets its translation, too, after it has read the word
# A processor notices all five. bochs 2.7 loses the stores of cases 2 and 4, for two reasons:
#   - MONITOR makes all processors forget the translation of the linear address that equals the word's *physical* one, so that
#     stores take the slow way, where they are compared with what is monitored. In case 2 the store takes the fast way.
#   - MONITOR takes the physical address from the last translation that was looked up in page tables, which is not that of the
#     word if the TLB has the word's: in case 4 something else is monitored.

    .intel_syntax noprefix

    .set MONITORED, 0x6000          # physical
    .set OTHER_PAGE, 0x7000
    .set ELSEWHERE, 0x80000000      # where physical address 0 is mapped once more
    .set DIRECTORY, 0x9000
    .set APIC_ICR, 0xfee00300
    .set INIT_OTHERS, 0xc4500
    .set START_OTHERS, 0xc4608      # at 0x8000
    .set COM1, 0x3f8
    .set STORER_FORGETS, 1
    .set SLEEPER_READS, 2
    .set SLEEPER_FORGETS, 4

    .code16
    .globl _start
_start:
    cli
    xor ax, ax
    mov ds, ax
    mov es, ax
    mov ss, ax
    mov sp, 0x7c00
    mov bx, 0x7e00                  # the sectors behind this one, where they are linked
    mov ax, 0x0204
    mov cx, 0x0002
    xor dh, dh
    int 0x13
    jc .
    jmp processor
    .org 510
    .word 0xaa55

    # 0x8000: every processor starts here.
    .org 0x400
processor:
    cli
    xor ax, ax
    mov ds, ax
    lgdt [table_pointer]
    mov eax, cr0
    or al, 1
    mov cr0, eax
    .byte 0x66, 0xea                # far jump
    .long protected
    .word 8

    .code32
protected:
    mov ax, 16
    mov ds, ax
    mov es, ax
    mov ss, ax
    mov ecx, 0x1b                   # IA32_APIC_BASE: bit 8 marks the first processor
    rdmsr
    test ah, 1
    jz sleeper
    mov esp, 0x5000

    mov edi, DIRECTORY              # pages of 4 MiB
    xor eax, eax
    mov ecx, 1024
    rep stosd
    mov dword ptr [DIRECTORY], 0x83
    mov dword ptr [DIRECTORY + (ELSEWHERE >> 20)], 0x83
    mov dword ptr [DIRECTORY + 0xfec], 0xfec00093
    call paging_on

    mov dx, COM1 + 3                # 8 bits
    mov al, 3
    out dx, al

    mov esi, MONITORED
    xor edi, edi
    mov ebx, offset text_identity
    call one_case
    mov esi, ELSEWHERE + MONITORED
    mov ebx, offset text_elsewhere
    call one_case
    mov edi, STORER_FORGETS
    mov ebx, offset text_forgotten
    call one_case
    mov edi, STORER_FORGETS + SLEEPER_READS
    mov ebx, offset text_read
    call one_case
    mov edi, STORER_FORGETS + SLEEPER_READS + SLEEPER_FORGETS
    mov ebx, offset text_read_forgotten
    call one_case
    mov ebx, offset text_end
    call say
1:  hlt
    jmp 1b

# esi: linear address of the word; edi: what else the processors do; ebx: what to say
one_case:
    call say
    mov [word_address], esi
    mov [flags], edi
    mov dword ptr [state], 0
    mov dword ptr [esi], 0
    mov dword ptr [APIC_ICR], INIT_OTHERS
    call wait_a_while
    mov dword ptr [APIC_ICR], START_OTHERS
1:  pause
    cmp dword ptr [state], 1
    jne 1b
    call wait_a_while
    mov ebx, offset text_awake
    cmp dword ptr [state], 1
    jne say                         # it has not slept
    test edi, STORER_FORGETS
    jz 2f
    invlpg [esi]
2:  mov dword ptr [esi], 1
    mov ecx, 1000000
3:  pause
    cmp dword ptr [state], 2
    je 4f
    loop 3b
    mov ebx, offset text_lost
    jmp say
4:  mov ebx, offset text_noticed
    jmp say

wait_a_while:
    mov ecx, 100000
1:  pause
    loop 1b
    ret

sleeper:
    mov esp, 0x4000
    call paging_on
    mov esi, [word_address]
    test dword ptr [flags], SLEEPER_READS
    jz 1f
    mov eax, [esi]
    mov eax, [OTHER_PAGE]
1:  test dword ptr [flags], SLEEPER_FORGETS
    jz 1f
    invlpg [esi]
1:  mov eax, esi
    xor ecx, ecx
    xor edx, edx
    monitor
    cmp dword ptr [esi], 0
    jne 1f
    mov dword ptr [state], 1
    xor eax, eax
    mwait
1:  mov dword ptr [state], 2
2:  hlt
    jmp 2b

paging_on:
    mov eax, cr4
    or eax, 0x10                    # pages of 4 MiB
    mov cr4, eax
    mov eax, DIRECTORY
    mov cr3, eax
    mov eax, cr0
    and eax, 0x9fffffff             # caches on
    or eax, 0x80000000
    mov cr0, eax
    ret

# ebx: text, ended by 0
say:
    mov al, [ebx]
    test al, al
    jz 2f
    mov ah, al
    mov dx, COM1 + 5
1:  in al, dx
    test al, 0x20
    jz 1b
    mov dx, COM1
    mov al, ah
    out dx, al
    inc ebx
    jmp say
2:  ret

    .align 8
table:
    .quad 0
    .quad 0x00cf9a000000ffff
    .quad 0x00cf92000000ffff
table_pointer:
    .word . - table - 1
    .long table
word_address:
    .long 0
state:                              # of the sleeper: 1 it goes to sleep, 2 it was woken
    .long 0
flags:
    .long 0
text_identity:
    .asciz "1 mapped at its physical address: "
text_elsewhere:
    .asciz "2 mapped elsewhere: "
text_forgotten:
    .asciz "3 mapped elsewhere, storer has forgotten: "
text_read:
    .asciz "4 as 3, sleeper has read: "
text_read_forgotten:
    .asciz "5 as 4, sleeper has forgotten: "
text_noticed:
    .asciz "noticed\n"
text_awake:
    .asciz "not asleep\n"
text_lost:
    .asciz "lost\n"
text_end:
    .asciz "end of the cases\n"
    .org 0xa00
