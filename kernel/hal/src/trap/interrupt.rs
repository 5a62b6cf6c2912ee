// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Interrupts, and non-maskable ones: handled on stacks of their own.

use core::arch::naked_asm;
use core::sync::atomic::Ordering;

use super::entry::{BLOCK_AT, attend_handler, repair_per_cpu_pointer, restore_registers, save_registers};
use super::{INTERRUPT_FLAG, TrapFrame, fault, hooks, origin};
use crate::cpu::percpu::{self, PerCpu, offset};
use crate::cpu::standstill;
use crate::interrupts::handler::{self, HandlerError};
use crate::interrupts::irq::Off;
use crate::interrupts::{apic, irq};
use crate::memory::{layout, tlb};
use crate::trace::{self, Kind};

/// Interrupts: handled on the interrupt stack; continue on the thread's kernel stack if the program has to attend.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn interrupt_entry() {
    naked_asm!(
        save_registers!(),
        "mov rsi, [rsp + {block}]",
        ".global hadal_interrupt_probe",
        "hadal_interrupt_probe:",
        "cmp rsi, gs:[{this}]",
        "jne 3f",
        "4:",
        "mov rdi, rsp",
        "call {handler}",
        "test rax, rax",
        "jz 2f",
        "mov rsp, rax",
        "mov rdi, rax",
        "call {attend}",
        "2:",
        restore_registers!(),
        "add rsp, 16",
        "iretq",
        "3:",
        "mov rdi, rsp",
        "call {repair}",
        "mov rsi, [rsp + {block}]",
        "jmp 4b",
        block = const BLOCK_AT,
        this = const offset::THIS,
        repair = sym repair_per_cpu_pointer,
        handler = sym interrupt_handler::<false>,
        attend = sym attend_handler,
    );
}

/// The timer that ends a halt of [`crate::cpu::hold`]: neither counted nor traced, for it may be late. At any other place the
/// vector is like all others.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn held_entry() {
    naked_asm!(
        "cmp qword ptr [rsp + {rip}], offset hadal_held_halt_end",
        "jne {interrupt}",
        save_registers!(),
        "call {end}",
        restore_registers!(),
        "add rsp, 16",
        "iretq",
        // Behind the number of the vector and the error code.
        rip = const 16,
        interrupt = sym interrupt_entry,
        end = sym end_held_halt,
    );
}

pub(super) extern "C" fn end_held_halt() {
    apic::end_of_interrupt();
}

/// Returns where the frame continues on the thread's kernel stack, or null to return to the interrupted code. `ISOLATED`:
/// programs run in ring 3.
pub(super) extern "C" fn interrupt_handler<const ISOLATED: bool>(
    frame: &mut TrapFrame,
    block: &PerCpu,
) -> *mut TrapFrame {
    // Before the handler is looked up: see `irq::synchronize`.
    block.interrupts.fetch_add(1, Ordering::SeqCst);
    let number = frame.vector as u8;
    irq::begin_interrupt_section(number);
    // SAFETY: the gate has turned interrupts off, and they stay so until the return.
    let off = unsafe { Off::assumed() };
    trace::point(Kind::InterruptEnter, frame.vector, frame.rip);
    match number {
        irq::VECTOR_TIMER => {
            apic::end_of_interrupt();
            hooks().timer(frame, off);
        }
        irq::VECTOR_RESCHEDULE => {
            apic::end_of_interrupt();
            hooks().reschedule(off);
        }
        irq::VECTOR_TLB => {
            apic::end_of_interrupt();
            tlb::service();
        }
        irq::VECTOR_STOP => {
            apic::end_of_interrupt();
            hooks().stop(frame);
            standstill::stand();
        }
        irq::VECTOR_SPURIOUS => {}
        _ => {
            let is_known = irq::dispatch(number);
            apic::end_of_interrupt();
            if !is_known && origin::refuse_software_interrupt(frame) {
                percpu::raise_attention(percpu::attention::RESCHEDULE);
            }
        }
    }
    trace::point(Kind::InterruptExit, frame.vector, 0);
    let done = block.interrupts_done.load(Ordering::Relaxed);
    block.interrupts_done.store(done + 1, Ordering::Release);
    irq::end_section();
    let is_kernel = if ISOLATED {
        !frame.is_from_ring_3()
    } else {
        !layout::is_program(frame.rip) && frame.is_in_kernel_text() && origin::returns_to_kernel(frame, block)
    };
    if is_kernel {
        return core::ptr::null_mut();
    }
    if percpu::pending_attention() == 0 {
        return core::ptr::null_mut();
    }
    let top = block.kernel_stack_top.load(Ordering::Relaxed);
    let target = (top - size_of::<TrapFrame>() as u64) as *mut TrapFrame;
    // SAFETY: program code was interrupted, so its thread's kernel stack is empty; the frame fits below its top.
    unsafe { target.write(*frame) };
    target
}

/// NMI: on a stack of its own, never moved.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn nmi_entry() {
    naked_asm!(
        save_registers!(),
        "mov rsi, [rsp + {block}]",
        ".global hadal_nmi_probe",
        "hadal_nmi_probe:",
        "cmp rsi, gs:[{this}]",
        "jne 3f",
        "4:",
        "mov rdi, rsp",
        "call {handler}",
        restore_registers!(),
        "add rsp, 16",
        "iretq",
        "3:",
        "mov rdi, rsp",
        "call {repair}",
        "jmp 4b",
        block = const BLOCK_AT,
        this = const offset::THIS,
        repair = sym repair_per_cpu_pointer,
        handler = sym nmi_handler,
    );
}

pub(super) extern "C" fn nmi_handler(frame: &mut TrapFrame) {
    if handler::is_running() {
        // In its code only: called from there, the kernel may hold a lock.
        if frame.is_program() && handler::is_given_up() {
            fault::give_up_handler(frame, HandlerError::Stuck);
        }
        return;
    }
    hooks().non_maskable(frame);
    if frame.is_program() {
        // Program code in ring 0 can turn interrupts off; whoever sent this wants the ones that wait to be taken.
        frame.rflags |= INTERRUPT_FLAG;
    }
}
