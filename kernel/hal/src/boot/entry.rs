// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The first instructions: loader headers, 32-bit start-up, boot page tables, and the start page of other processors.
//!
//! PVH enters with EBX = start info; Multiboot2 with EAX = magic and EBX = information. Both are in 32-bit protected mode
//! without paging. The boot page tables map the first 4 GiB three times: at 0 (for the switch), in the direct map, and the
//! first GiB at the kernel's base.

use core::arch::global_asm;

use super::{multiboot2, pvh};
use crate::boot::smp;
use crate::cpu::percpu;
use crate::memory::layout::{KERNEL_BASE, TRAMPOLINE_PA};
use crate::memory::paging;

/// Bytes of the stack on which the boot CPU starts and later idles.
pub(crate) const BOOT_STACK_SIZE: usize = 64 << 10;

global_asm!(
    // Multiboot2 header (specification 3.1): magic, architecture i386, length, checksum, tags.
    ".pushsection .boot.header, \"a\", @progbits",
    ".balign 8",
    "0: .long 0xe85250d6, 0, 1f - 0b, -(0xe85250d6 + (1f - 0b))",
    // Entry: the one of the ELF header is Linux's (see [`super::linux_start`]).
    ".balign 8",
    ".short 3, 0",
    ".long 12, hadal_start32",
    // Framebuffer, optional: any size, text allowed.
    ".balign 8",
    ".short 5, 1",
    ".long 20, 0, 0, 0",
    ".balign 8",
    ".short 0, 0",
    ".long 8",
    "1:",
    ".popsection",
    // XEN_ELFNOTE_PHYS32_ENTRY; QEMU reads eight bytes.
    ".pushsection .note.Xen, \"a\", @note",
    ".balign 4",
    ".long 4, 8, 18",
    ".asciz \"Xen\"",
    ".quad hadal_start32",
    ".popsection",
    ".pushsection .boot.text, \"ax\", @progbits",
    ".code32",
    ".global hadal_start32",
    "hadal_start32:",
    "cld",
    "mov ebp, eax",
    "mov esp, ebx",
    // Four page directories of 512 2 MiB pages: present, writable, large.
    "mov edi, offset hadal_boot_pd",
    "mov eax, 0x83",
    "mov ecx, 2048",
    "2: mov [edi], eax",
    "mov dword ptr [edi + 4], 0",
    "add eax, 0x200000",
    "add edi, 8",
    "loop 2b",
    "mov edi, offset hadal_boot_pdpt",
    "mov eax, offset hadal_boot_pd + 3",
    "mov ecx, 4",
    "3: mov [edi], eax",
    "add eax, 0x1000",
    "add edi, 8",
    "loop 3b",
    "mov eax, offset hadal_boot_pd + 3",
    "mov [hadal_boot_pdpt_high + 510 * 8], eax",
    "mov eax, offset hadal_boot_pdpt + 3",
    "mov [hadal_boot_pml4], eax",
    "mov [hadal_boot_pml4 + 256 * 8], eax",
    "mov eax, offset hadal_boot_pdpt_high + 3",
    "mov [hadal_boot_pml4 + 511 * 8], eax",
    "mov eax, offset hadal_boot_pml4",
    "mov cr3, eax",
    // PAE, global pages
    "mov eax, 0xa0",
    "mov cr4, eax",
    // EFER: SCE, LME, NXE
    "mov ecx, 0xc0000080",
    "rdmsr",
    "or eax, 0x901",
    "wrmsr",
    // PG, WP, NE, ET, MP, PE
    "mov eax, 0x80010033",
    "mov cr0, eax",
    "lgdt [hadal_boot_gdt_pointer]",
    "mov ebx, esp",
    // A far jump to selector 8: the 64-bit code segment.
    ".byte 0xea",
    ".long hadal_start64",
    ".short 8",
    ".code64",
    "hadal_start64:",
    "xor eax, eax",
    "mov ds, eax",
    "mov es, eax",
    "mov fs, eax",
    "mov gs, eax",
    "mov eax, 16",
    "mov ss, eax",
    "movabs rsp, offset hadal_boot_stack_top",
    "mov edi, ebp",
    "mov esi, ebx",
    "xor ebp, ebp",
    "movabs rax, offset {start}",
    "call rax",
    "ud2",
    ".balign 8",
    "hadal_boot_gdt: .quad 0, 0x00af9b000000ffff, 0x00cf93000000ffff",
    "hadal_boot_gdt_pointer: .short 23",
    ".quad hadal_boot_gdt",
    // The start page of application processors, copied to TRAMPOLINE_PA: real mode straight to long mode.
    ".code16",
    ".global hadal_ap_page, hadal_ap_page_end",
    "hadal_ap_page:",
    "cli",
    "cld",
    "xor ax, ax",
    "mov ds, ax",
    // lgdt with a 16-bit address
    ".byte 0x0f, 0x01, 0x16",
    ".short {page} + 9f - hadal_ap_page",
    "mov eax, offset hadal_boot_pml4",
    "mov cr3, eax",
    "mov eax, 0xa0",
    "mov cr4, eax",
    "mov ecx, 0xc0000080",
    "rdmsr",
    "or eax, 0x901",
    "wrmsr",
    "mov eax, 0x80010033",
    "mov cr0, eax",
    // A far jump with a 32-bit offset, from real-mode code size.
    ".byte 0x66, 0xea",
    ".long {page} + 8f - hadal_ap_page",
    ".short 8",
    ".balign 4",
    "9: .short 23",
    ".long hadal_boot_gdt",
    ".code64",
    "8:",
    "xor eax, eax",
    "mov ds, eax",
    "mov es, eax",
    "mov fs, eax",
    "mov gs, eax",
    "mov eax, 16",
    "mov ss, eax",
    "movabs rax, offset hadal_ap_start64",
    "jmp rax",
    "hadal_ap_page_end:",
    ".popsection",
    ".pushsection .text.ap, \"ax\", @progbits",
    "hadal_ap_start64:",
    // The final page tables: the stacks may lie beyond what the boot tables map.
    "mov rax, [rip + {root}]",
    "mov cr3, rax",
    "mov edi, 1",
    "lock xadd [rip + {next}], rdi",
    "mov rax, [rip + {stacks}]",
    "mov rsp, [rax + 8 * rdi]",
    "xor ebp, ebp",
    "call {ap_start}",
    "ud2",
    ".popsection",
    // The identity copy of the tables' addresses is below 4 GiB: they are physical.
    ".pushsection .boot.bss, \"aw\", @nobits",
    ".balign 4096",
    ".global hadal_boot_pml4",
    "hadal_boot_pml4: .skip 4096",
    "hadal_boot_pdpt: .skip 4096",
    "hadal_boot_pdpt_high: .skip 4096",
    "hadal_boot_pd: .skip 4 * 4096",
    ".popsection",
    ".pushsection .bss.boot_stack, \"aw\", @nobits",
    ".balign 4096",
    ".global hadal_boot_stack_top",
    "hadal_boot_stack: .skip {stack_size}",
    "hadal_boot_stack_top:",
    ".popsection",
    start = sym start,
    ap_start = sym smp::start_this_cpu,
    root = sym paging::ROOT,
    next = sym smp::NEXT_STACK,
    stacks = sym smp::STACK_TOPS,
    page = const TRAMPOLINE_PA,
    stack_size = const BOOT_STACK_SIZE,
);

unsafe extern "C" {
    safe static hadal_boot_stack_top: u8;
}

unsafe extern "Rust" {
    /// The kernel, after the hardware layer: `#[unsafe(no_mangle)] fn kernel_main(BootInfo) -> !` in the image's crate.
    fn kernel_main(info: super::BootInfo) -> !;
}

/// First Rust code, on the boot stack, with the boot page tables.
extern "C" fn start(magic: u32, info_pa: u32) -> ! {
    percpu::load(0);
    percpu::this().set_kernel_stack(core::ptr::from_ref(&hadal_boot_stack_top) as u64);
    let info = if magic == multiboot2::MAGIC {
        multiboot2::read(u64::from(info_pa))
    } else {
        pvh::read(u64::from(info_pa))
    };
    const { assert!(KERNEL_BASE == 0xffff_ffff_8000_0000, "the boot page tables map the kernel there") };
    // SAFETY: the symbol is defined once, by the image's crate, with this signature.
    unsafe { kernel_main(info) }
}
