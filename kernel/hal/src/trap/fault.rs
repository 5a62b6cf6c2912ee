// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Faults: whose they are, and on which stack they are handled.

use core::arch::naked_asm;
use core::sync::atomic::Ordering;

use super::entry::{BLOCK_AT, finish, repair_per_cpu_pointer, restore_registers, save_registers};
use super::{Access, INTERRUPT_FLAG, TrapFrame, hooks, origin, vector};
use crate::cpu::percpu::{self, MSR_GS_BASE, PerCpu};
use crate::interrupts::handler::{self, HandlerError};
use crate::interrupts::irq;
use crate::memory::user;
use crate::threads::context;

/// Faults: on the fault stack, interrupts off. `move_fault` says where to continue.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn fault_entry() {
    naked_asm!(
        // The processor aligns a trap stack before it pushes: so the parity of the words says whether there is an error
        // code. `int n` pushes none on any vector, and is made the exception here that Linux makes of it, at the
        // instruction.
        "test spl, 8",
        "jz 6f",
        "7:",
        save_registers!(),
        "mov rsi, [rsp + {block}]",
        // A load by %gs could fault, and then this frame would be lost.
        "cmp byte ptr [rip + {fsgsbase}], 0",
        "je 3f",
        "rdgsbase rax",
        "4:",
        "cmp rax, rsi",
        "jne 5f",
        "2:",
        "mov rdi, rsp",
        "call {move_fault}",
        "mov rsp, rax",
        "mov rdi, rax",
        "call {handler}",
        restore_registers!(),
        "add rsp, 16",
        "iretq",
        "3:",
        "mov ecx, {gs_base}",
        "rdmsr",
        "shl rdx, 32",
        "or rax, rdx",
        "jmp 4b",
        "5:",
        "mov rdi, rsp",
        "call {repair}",
        "mov rsi, [rsp + {block}]",
        "jmp 2b",
        "6:",
        "push {general_protection}",
        "shl qword ptr [rsp + 8], 3",
        "or qword ptr [rsp + 8], {in_idt}",
        "sub qword ptr [rsp + 16], {int_length}",
        "jmp 7b",
        general_protection = const vector::GENERAL_PROTECTION,
        in_idt = const origin::ERROR_IN_IDT,
        int_length = const origin::SHORT_INSTRUCTION,
        block = const BLOCK_AT,
        fsgsbase = sym context::FSGSBASE,
        gs_base = const MSR_GS_BASE,
        repair = sym repair_per_cpu_pointer,
        move_fault = sym move_fault::<false>,
        handler = sym fault_handler,
    );
}

/// [`TrapFrame::full_restore`] of a fault that is the program's.
const FROM_PROGRAM: u64 = 2;

/// Copies the frame to the stack on which the fault is handled, and returns the copy. `ISOLATED`: programs run in ring 3.
pub(super) extern "C" fn move_fault<const ISOLATED: bool>(
    frame: &mut TrapFrame,
    block: &PerCpu,
) -> *mut TrapFrame {
    if frame.vector == vector::PAGE_FAULT {
        // SAFETY: reading CR2 in ring 0 has no effect.
        unsafe { core::arch::asm!("mov {}, cr2", out(reg) frame.fault_address, options(nomem, nostack)) };
    }
    // The kernel stack belongs to what the handler interrupted.
    if block.handlers.load(Ordering::Relaxed) != 0 {
        return frame;
    }
    let top = block.kernel_stack_top.load(Ordering::Relaxed);
    let bottom = top.saturating_sub(crate::threads::context::KERNEL_STACK_SIZE as u64);
    if ISOLATED && frame.is_implicit_access_to_program() {
        // QEMU up to 9.0 reads the stack of a far return in ring 3 as the kernel would, which SMAP forbids: for ever.
        super::tables::give_smap_up();
    }
    let is_programs =
        if ISOLATED { origin::is_isolated_programs(frame) } else { origin::is_programs(frame, block) };
    let below = if is_programs {
        frame.full_restore = FROM_PROGRAM;
        top
    } else {
        frame.rsp & !15
    };
    let target = below.wrapping_sub(size_of::<TrapFrame>() as u64);
    // A kernel stack that has run out, or code on no stack that we know: stay here and let the handler report it.
    if !(bottom + 512..=top).contains(&target) || below > top {
        return frame;
    }
    let target = target as *mut TrapFrame;
    // SAFETY: the target is on the current thread's kernel stack: its empty top when a program was interrupted, else
    // below everything that the interrupted kernel code uses (no red zone).
    unsafe { target.write(*frame) };
    target
}

/// Runs with interrupts off; returns with interrupts off.
pub(super) extern "C" fn fault_handler(frame: &mut TrapFrame) {
    if handler::is_running() && handler_fault(frame) {
        return;
    }
    if frame.full_restore == FROM_PROGRAM {
        irq::unmask();
        origin::refuse_unused_exception(frame);
        hooks().program_fault(frame);
        finish(frame);
        return;
    }
    if frame.vector == vector::PAGE_FAULT
        && let Some(fixup) = user::fixup(frame.rip)
    {
        // With interrupts off the kernel holds a lock: resolving could wait, so the access fails instead.
        let mut resolved = false;
        if frame.rflags & INTERRUPT_FLAG != 0 {
            irq::unmask();
            resolved = hooks().resolve(frame.fault_address, Access::from_error(frame.error));
            let _ = irq::mask();
            irq::end_section();
        }
        if !resolved {
            frame.rip = fixup;
        }
        return;
    }
    // A non-canonical program address raises #GP instead of #PF.
    if frame.vector == vector::GENERAL_PROTECTION
        && let Some(fixup) = user::fixup(frame.rip)
    {
        frame.rip = fixup;
        return;
    }
    let may_go_on = percpu::this().was_lost.swap(false, Ordering::Relaxed) || origin::clear_flags(frame);
    if !may_go_on {
        hooks().kernel_fault(frame);
    }
}

/// Gives the handler of the program up that this CPU runs, if it is to blame for the fault; interrupts are off. Returns
/// whether it is.
fn handler_fault(frame: &mut TrapFrame) -> bool {
    unsafe extern "C" {
        safe static hadal_system_call_in_handler: u8;
    }
    let is_call = frame.rip == core::ptr::from_ref(&hadal_system_call_in_handler) as u64;
    if is_call {
        // The instruction is two bytes long and leaves the address behind it in RCX.
        frame.rip = frame.rcx.wrapping_sub(2);
    } else if !frame.is_program() {
        return false;
    }
    give_up_handler(frame, if is_call { HandlerError::SystemCall } else { HandlerError::Fault });
    true
}

pub(super) fn give_up_handler(frame: &mut TrapFrame, error: HandlerError) {
    hooks().handler_failed(percpu::this().handler.handler(), error, frame);
    handler::abandon(frame);
}
