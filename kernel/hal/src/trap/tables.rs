// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Descriptor tables of a CPU: GDT, TSS with its interrupt stack table, the shared IDT, and the SYSCALL registers.

use alloc::boxed::Box;
use core::cell::UnsafeCell;
use core::sync::atomic::Ordering;

use spin::Once;
use x86_64::VirtAddr;
use x86_64::structures::gdt::{Descriptor, GlobalDescriptorTable};
use x86_64::structures::tss::TaskStateSegment;

use super::{entry, isolated, ring, selector, system_call, vector};
use crate::cpu;
use crate::cpu::percpu;
use crate::interrupts::handler;

/// Interrupt-stack-table slots (1-based, as in a gate).
mod ist {
    pub(super) const INTERRUPT: u8 = 1;
    pub(super) const FAULT: u8 = 2;
    pub(super) const NMI: u8 = 3;
    pub(super) const DOUBLE_FAULT: u8 = 4;
    pub(super) const MACHINE_CHECK: u8 = 5;
    pub(super) const COUNT: usize = 5;
}

/// Bytes of each interrupt stack.
const STACK_SIZE: usize = 16 << 10;
/// Bytes of all of them: they lie one behind the other, so that one look tells whether a stack pointer is on one.
pub(super) const STACKS_SIZE: usize = ist::COUNT * STACK_SIZE;

#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Gate([u64; 2]);

impl Gate {
    /// The ring from which `int n` may use the gate.
    const RING_3: u64 = 3 << 45;

    /// An interrupt gate (interrupts off on entry) for ring 0 (Intel SDM vol. 3, figure 6-8).
    const fn new(handler: u64, ist: u8) -> Self {
        let low = handler & 0xffff
            | (selector::KERNEL_CODE as u64) << 16
            | (ist as u64) << 32
            | 0x8e00 << 32
            | (handler >> 16 & 0xffff) << 48;
        Self([low, handler >> 32])
    }
}

type Idt = Box<[Gate; 256]>;

/// The gates of all vectors, which lead to these stubs.
fn make_idt(stub: impl Fn(usize) -> u64) -> Idt {
    let mut gates = Box::new([Gate::new(0, 0); 256]);
    for (number, gate) in gates.iter_mut().enumerate() {
        let ist = match number as u64 {
            vector::NMI => ist::NMI,
            vector::DOUBLE_FAULT => ist::DOUBLE_FAULT,
            vector::MACHINE_CHECK => ist::MACHINE_CHECK,
            0..32 => ist::FAULT,
            _ => ist::INTERRUPT,
        };
        *gate = Gate::new(stub(number), ist);
    }
    gates
}

fn idt() -> &'static [Gate; 256] {
    static IDT: Once<Idt> = Once::new();
    IDT.call_once(|| make_idt(entry::stub))
}

/// The one for programs in ring 3, which may use a breakpoint.
fn isolated_idt() -> &'static [Gate; 256] {
    static IDT: Once<Idt> = Once::new();
    IDT.call_once(|| {
        let mut gates = make_idt(isolated::stub);
        gates[vector::BREAKPOINT as usize].0[0] |= Gate::RING_3;
        gates
    })
}

/// What the CPU keeps pointers to; leaked, one for each CPU.
struct Tables {
    gdt: UnsafeCell<GlobalDescriptorTable>,
    tss: TaskStateSegment,
}

/// Loads descriptor tables, interrupt stacks and the SYSCALL entry on the calling CPU.
pub(crate) fn load() {
    let mut tss = TaskStateSegment::new();
    let stacks = Box::leak(Box::<[u128]>::new_uninit_slice(STACKS_SIZE / 16));
    let block = percpu::this();
    block.trap_stacks.store(stacks.as_ptr() as u64, Ordering::Relaxed);
    for (slot, stack) in stacks.chunks_exact_mut(STACK_SIZE / 16).enumerate() {
        // The word above the first frame holds the block's address, whatever `%gs` holds.
        stack[STACK_SIZE / 16 - 1].write(block.address() as u128);
        let top = stack.as_ptr_range().end as u64 - 16;
        if slot + 1 == usize::from(ist::INTERRUPT) {
            stack[0].write(u128::from(handler::CANARY));
            handler::set_stack_bottom(stack.as_ptr() as u64);
        }
        tss.interrupt_stack_table[slot] = VirtAddr::new(top);
    }
    let tables: &'static Tables =
        Box::leak(Box::new(Tables { gdt: UnsafeCell::new(GlobalDescriptorTable::new()), tss }));
    // SAFETY: the tables are not shared yet: this function made them and only this CPU gets them.
    let gdt: &'static mut GlobalDescriptorTable = unsafe { &mut *tables.gdt.get() };
    let code = gdt.append(Descriptor::kernel_code_segment());
    let data = gdt.append(Descriptor::kernel_data_segment());
    assert!(
        code.0 == selector::KERNEL_CODE && data.0 == selector::KERNEL_DATA,
        "GDT order is that of `selector`"
    );
    let task = gdt.append(Descriptor::tss_segment(&tables.tss));
    let program_data = gdt.append(Descriptor::user_data_segment());
    let program_code = gdt.append(Descriptor::user_code_segment());
    assert!(
        program_code.0 == selector::PROGRAM_CODE && program_data.0 == selector::PROGRAM_DATA,
        "GDT order is that of `selector`"
    );
    gdt.load();
    load_segments(task);
    load_idt(idt());
    load_syscall(system_call::address());
    if ring::isolates() {
        isolate_this_cpu();
    }
}

/// Makes the calling CPU one whose programs run in ring 3: entries, and what the processor forbids.
pub(super) fn isolate_this_cpu() {
    use x86_64::registers::control::{Cr4, Cr4Flags};
    load_idt(isolated_idt());
    load_syscall(isolated::system_call_address());
    let features = raw_cpuid::CpuId::new().get_extended_feature_info();
    let mut wanted = Cr4Flags::empty();
    if let Some(features) = features {
        wanted.set(Cr4Flags::SUPERVISOR_MODE_EXECUTION_PROTECTION, features.has_smep());
        wanted.set(Cr4Flags::SUPERVISOR_MODE_ACCESS_PREVENTION, features.has_smap());
        wanted.set(Cr4Flags::USER_MODE_INSTRUCTION_PREVENTION, features.has_umip());
    }
    // SAFETY: the kernel executes nothing of the program's, and touches its memory by the routines of `memory::user` only.
    unsafe { Cr4::update(|flags| flags.insert(wanted)) };
}

/// Lets the kernel reach the program's memory by any instruction on this CPU. What opens it stays harmless.
#[cold]
pub(super) fn give_smap_up() {
    use x86_64::registers::control::{Cr4, Cr4Flags};
    // SAFETY: takes a check away, no more.
    unsafe { Cr4::update(|flags| flags.remove(Cr4Flags::SUPERVISOR_MODE_ACCESS_PREVENTION)) };
}

fn load_segments(task: x86_64::structures::gdt::SegmentSelector) {
    use x86_64::instructions::segmentation::{CS, DS, ES, SS, Segment};
    use x86_64::structures::gdt::SegmentSelector;
    // SAFETY: the selectors are those of the GDT just loaded. FS and GS are left alone: loading them would clear their
    // bases.
    unsafe {
        CS::set_reg(SegmentSelector(selector::KERNEL_CODE));
        SS::set_reg(SegmentSelector(selector::KERNEL_DATA));
        DS::set_reg(SegmentSelector(0));
        ES::set_reg(SegmentSelector(0));
        x86_64::instructions::tables::load_tss(task);
        // After a reset the local descriptor table is what lies at address 0: the program's.
        core::arch::asm!("lldt {0:x}", in(reg) 0_u16, options(nostack, preserves_flags));
    }
}

fn load_idt(gates: &'static [Gate; 256]) {
    let pointer = x86_64::structures::DescriptorTablePointer {
        limit: (size_of_val(gates) - 1) as u16,
        base: VirtAddr::from_ptr(gates),
    };
    // SAFETY: the table is never freed and every gate leads to a stub on a stack of this CPU's TSS.
    unsafe { x86_64::instructions::tables::lidt(&pointer) };
}

fn load_syscall(entry: u64) {
    const MSR_STAR: u32 = 0xc000_0081;
    const MSR_LSTAR: u32 = 0xc000_0082;
    const MSR_FMASK: u32 = 0xc000_0084;
    /// IF, DF, TF, AC, NT: what must be clear when the entry code starts.
    const MASKED: u64 = 1 << 9 | 1 << 10 | 1 << 8 | 1 << 18 | 1 << 14;
    // SYSRET takes the selectors 8 and 16 behind this one.
    let sysret = u64::from(selector::PROGRAM_DATA) - 8;
    // SAFETY: every x86-64 CPU has these registers; the entry is the kernel's.
    unsafe {
        cpu::write_msr(MSR_STAR, sysret << 48 | u64::from(selector::KERNEL_CODE) << 32);
        cpu::write_msr(MSR_LSTAR, entry);
        cpu::write_msr(MSR_FMASK, MASKED);
    }
}
