// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Descriptor tables of a CPU: GDT, TSS with its interrupt stack table, the shared IDT, and the SYSCALL registers.

use alloc::boxed::Box;
use core::cell::UnsafeCell;
use core::sync::atomic::Ordering;

use spin::Once;
use x86_64::VirtAddr;
use x86_64::structures::gdt::{Descriptor, GlobalDescriptorTable};
use x86_64::structures::tss::TaskStateSegment;

use super::{entry, selector, system_call, vector};
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

static IDT: Once<Box<[Gate; 256]>> = Once::new();

fn idt() -> &'static [Gate; 256] {
    IDT.call_once(|| {
        let mut gates = Box::new([Gate::new(0, 0); 256]);
        for (number, gate) in gates.iter_mut().enumerate() {
            let ist = match number as u64 {
                vector::NMI => ist::NMI,
                vector::DOUBLE_FAULT => ist::DOUBLE_FAULT,
                vector::MACHINE_CHECK => ist::MACHINE_CHECK,
                0..32 => ist::FAULT,
                _ => ist::INTERRUPT,
            };
            *gate = Gate::new(entry::stub(number), ist);
        }
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
    gdt.load();
    load_segments(task);
    load_idt();
    load_syscall();
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
    }
}

fn load_idt() {
    let gates = idt();
    let pointer = x86_64::structures::DescriptorTablePointer {
        limit: (size_of_val(gates) - 1) as u16,
        base: VirtAddr::from_ptr(gates),
    };
    // SAFETY: the table is never freed and every gate leads to a stub on a stack of this CPU's TSS.
    unsafe { x86_64::instructions::tables::lidt(&pointer) };
}

fn load_syscall() {
    const MSR_STAR: u32 = 0xc000_0081;
    const MSR_LSTAR: u32 = 0xc000_0082;
    const MSR_FMASK: u32 = 0xc000_0084;
    /// IF, DF, TF, AC, NT: what must be clear when the entry code starts.
    const MASKED: u64 = 1 << 9 | 1 << 10 | 1 << 8 | 1 << 18 | 1 << 14;
    // SAFETY: every x86-64 CPU has these registers; the entry is the kernel's.
    unsafe {
        cpu::write_msr(MSR_STAR, u64::from(selector::KERNEL_CODE) << 32);
        cpu::write_msr(MSR_LSTAR, system_call::address());
        cpu::write_msr(MSR_FMASK, MASKED);
    }
}
