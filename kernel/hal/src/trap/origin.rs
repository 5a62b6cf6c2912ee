// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whose code a trap interrupted, where the instruction pointer alone does not say (decision 0024).
//!
//! A program in ring 0 can jump anywhere, and the kernel's first and last instructions of each way in run on the program's
//! stack. So:
//! - code outside of the kernel's text is the program's, wherever it is: the kernel never runs any;
//! - kernel text *on a kernel stack* is the kernel: the stack of the CPU's running thread, or one of its trap stacks;
//! - kernel text on another stack is an entry's first or an exit's last instructions, or the program has jumped there. A
//!   fault in it is the program's, since nothing but the program's registers and stack can be at fault. An interrupt in the
//!   entries and exits has nothing to attend to, or goes back to where that is looked for; elsewhere it interrupted the
//!   program.
//!
//! Frames that do not look as the handlers expect are made so here: SYSRET leaves ring 0 for where nothing can be fetched,
//! and a return to the program can fail in IRETQ. The frame of `int n` on a vector with an error code has none, and is
//! mended by the entry, before anything reads it.

use core::sync::atomic::Ordering;

use super::{INTERRUPT_FLAG, TrapFrame, ring, selector, vector};
use crate::cpu;
use crate::cpu::percpu::PerCpu;
use crate::memory::layout::{self, PROGRAM_START};
use crate::memory::user;
use crate::trap::call;

/// Bytes of the largest stack that kernel code of a thread runs on: the boot CPU's first.
const LARGEST_STACK: u64 = crate::boot::STACK_SIZE as u64;
/// Bytes of IRETQ.
const IRETQ: [u8; 2] = [0x48, 0xcf];
/// Bytes of SYSCALL, and of `int n`.
pub(super) const SHORT_INSTRUCTION: u64 = 2;
/// In the error code of a #GP: the index is that of a gate (Intel SDM vol. 3, figure 6-7).
pub(super) const ERROR_IN_IDT: u64 = 0b10;
const NESTED_TASK_FLAG: u64 = 1 << 14;
const TRAP_FLAG: u64 = 1 << 8;

unsafe extern "C" {
    safe static __text_start: u8;
    safe static __text_end: u8;
    safe static __leave_start: u8;
    safe static __calls_end: u8;
    safe static hadal_enter: u8;
    safe static hadal_enter_end: u8;
    safe static hadal_leave_look: u8;
    safe static hadal_leave_stack: u8;
    safe static hadal_leave_jump: u8;
    safe static hadal_interrupt_probe: u8;
    safe static hadal_nmi_probe: u8;
}

fn address(symbol: &u8) -> u64 {
    core::ptr::from_ref(symbol) as u64
}

/// Whether an address is in the kernel's code.
pub(super) fn is_kernel_text(rip: u64) -> bool {
    (address(&__text_start)..address(&__text_end)).contains(&rip)
}

/// Whether an instruction is one by which an entry finds out that `%gs` is not the kernel's.
pub(super) fn is_entry_probe(rip: u64) -> bool {
    rip == address(&hadal_interrupt_probe) || rip == address(&hadal_nmi_probe)
}

/// Whether a stack pointer is on the kernel stack of the CPU's running thread.
#[inline]
fn is_on_thread_stack(rsp: u64, block: &PerCpu) -> bool {
    block.kernel_stack_top.load(Ordering::Relaxed).wrapping_sub(rsp) <= LARGEST_STACK
}

fn is_on_trap_stack(rsp: u64, block: &PerCpu) -> bool {
    let bottom = block.trap_stacks.load(Ordering::Relaxed);
    rsp.wrapping_sub(bottom) <= super::tables::STACKS_SIZE as u64
}

/// Whether an interrupt in kernel text returns to the kernel; its frame then says where. Else it is made one of the program.
#[inline]
pub(super) fn returns_to_kernel(frame: &mut TrapFrame, block: &PerCpu) -> bool {
    let rip = frame.rip;
    if !(address(&__leave_start)..address(&__calls_end)).contains(&rip) {
        return is_on_thread_stack(frame.rsp, block);
    }
    if rip == address(&hadal_leave_stack) {
        // The frame of the system call is still on the stack.
        frame.rip = address(&hadal_leave_look);
    } else if rip == address(&hadal_leave_jump) {
        frame.rip = frame.rcx;
        return false;
    } else {
        frame.rip = call::before_check(rip);
    }
    true
}

/// Whether a fault is the program's, for frames of any kind, which are repaired; not while a handler of the program runs.
#[inline]
pub(super) fn is_programs(frame: &mut TrapFrame, block: &PerCpu) -> bool {
    // Whatever else is in a frame that is not as it should be, one of these two is not.
    const LENGTH: u64 = (1 << 47) - PROGRAM_START as u64;
    let ordinary = frame.rip.wrapping_sub(PROGRAM_START as u64) < LENGTH
        && frame.cs == u64::from(selector::KERNEL_CODE)
        && !matches!(frame.vector, vector::DOUBLE_FAULT | vector::MACHINE_CHECK);
    ordinary || is_programs_after_all(frame, block)
}

#[cold]
fn is_programs_after_all(frame: &mut TrapFrame, block: &PerCpu) -> bool {
    match frame.vector {
        vector::DOUBLE_FAULT => return false,
        vector::MACHINE_CHECK => {
            if cpu::is_machine_check_in_progress() {
                return false;
            }
            frame.vector = vector::GENERAL_PROTECTION;
            frame.error = vector::MACHINE_CHECK << 3 | ERROR_IN_IDT;
            frame.rip = frame.rip.wrapping_sub(SHORT_INSTRUCTION);
        }
        _ => {}
    }
    if frame.cs != u64::from(selector::KERNEL_CODE) {
        // SYSRET: the next instruction cannot be fetched in ring 3.
        frame.vector = vector::GENERAL_PROTECTION;
        frame.error = 0;
        frame.cs = selector::KERNEL_CODE.into();
        frame.ss = selector::KERNEL_DATA.into();
        return true;
    }
    if !is_kernel_text(frame.rip) {
        return true;
    }
    if is_on_thread_stack(frame.rsp, block) || is_on_trap_stack(frame.rsp, block) {
        return block.kernel_stack_top.load(Ordering::Relaxed) != 0 && is_failed_return(frame);
    }
    let is_entry = (address(&__leave_start)..address(&__calls_end)).contains(&frame.rip);
    if frame.vector == vector::DEBUG && is_entry && frame.rip != address(&hadal_leave_jump) {
        return false;
    }
    leave_entry(frame);
    true
}

/// Whether a fault is the program's, where programs run in ring 3. A return to the program that the processor refuses is.
pub(super) fn is_isolated_programs(frame: &mut TrapFrame) -> bool {
    if matches!(frame.vector, vector::DOUBLE_FAULT | vector::MACHINE_CHECK) {
        return false;
    }
    frame.is_from_ring_3() || is_failed_return(frame)
}

/// In the entry of a system call, and at the end of its exit, the program's place is known.
pub(super) fn leave_entry(frame: &mut TrapFrame) {
    if (address(&hadal_enter)..address(&hadal_enter_end)).contains(&frame.rip) {
        frame.rip = frame.rcx.wrapping_sub(SHORT_INSTRUCTION);
        frame.rflags = frame.r11;
    } else if frame.rip == address(&hadal_leave_jump) {
        frame.rip = frame.rcx;
    }
}

/// Whether an exception is that of an IRETQ to the program with a frame that the processor refuses; makes it one of the
/// program where it would have gone on.
fn is_failed_return(frame: &mut TrapFrame) -> bool {
    // SAFETY: kernel text is mapped, and is followed by read-only data.
    let code = unsafe { (frame.rip as *const [u8; 2]).read_unaligned() };
    if frame.vector != vector::GENERAL_PROTECTION || code != IRETQ || frame.rflags & NESTED_TASK_FLAG != 0 {
        return false;
    }
    // SAFETY: the stack pointer is on a kernel stack, where IRETQ found these five words.
    let [rip, cs, rflags, rsp, _] = unsafe { (frame.rsp as *const [u64; 5]).read() };
    let is_kernel = if ring::isolates() { cs & TrapFrame::RING_BITS == 0 } else { is_kernel_text(rip) };
    if is_kernel {
        return false;
    }
    (frame.rip, frame.rflags, frame.rsp) = (rip, rflags, rsp);
    frame.sanitize();
    true
}

/// Ends a trap of kernel code that flags of the program have caused, which it may set in ring 0 and keeps in a call through a
/// table: the trap flag there ends with the call, and an IRETQ must not find the flag of nested tasks.
pub(super) fn clear_flags(frame: &mut TrapFrame) -> bool {
    let flag = match frame.vector {
        vector::DEBUG => {
            cpu::clear_breakpoints();
            TRAP_FLAG
        }
        vector::GENERAL_PROTECTION => NESTED_TASK_FLAG,
        _ => return false,
    };
    let was_set = frame.rflags & flag != 0;
    frame.rflags &= !flag;
    was_set || flag == TRAP_FLAG
}

/// Refuses an `int n` of an exception that has no error code and that nothing else in a program raises.
pub(super) fn refuse_unused_exception(frame: &mut TrapFrame) {
    if matches!(frame.vector, 5 | 7 | 9 | 15 | 20 | 22..=28 | 31) {
        refuse_software_interrupt(frame);
    }
}

/// Whether a trap of the program that nothing else explains is an `int n` of its own, which Linux refuses; the frame is then
/// that of the refusal.
#[cold]
pub(super) fn refuse_software_interrupt(frame: &mut TrapFrame) -> bool {
    const INT: u8 = 0xcd;
    let place = frame.rip.wrapping_sub(SHORT_INSTRUCTION);
    let mut code = [0; 2];
    if !layout::is_program(place)
        || user::copy_from(&mut code, place as usize).is_err()
        || code != [INT, frame.vector as u8]
    {
        return false;
    }
    frame.error = frame.vector << 3 | ERROR_IN_IDT;
    frame.vector = vector::GENERAL_PROTECTION;
    frame.rip = place;
    frame.rflags |= INTERRUPT_FLAG;
    true
}
