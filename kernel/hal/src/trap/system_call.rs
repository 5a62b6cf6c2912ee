// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The ways from the program into the kernel that it asks for itself: SYSCALL, and the slow end of a call through a table.

use core::arch::naked_asm;
use core::mem::offset_of;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::entry::{attend_handler, enter_call, finish, load_of_call, restore_registers, save_registers};
use super::{CALL_VECTOR, INTERRUPT_FLAG, SYSCALL_VECTOR, SystemCall, TrapFrame, selector};
use crate::cpu::percpu::offset;
use crate::interrupts::handler;

/// Address of the entry.
pub(super) fn address() -> u64 {
    system_call as *const () as u64
}

/// SYSCALL from ring 0: RCX holds the return address, R11 the flags, RSP is still the program's and must not be used.
#[unsafe(naked)]
#[unsafe(link_section = ".text.leave")]
unsafe extern "C" fn system_call() {
    naked_asm!(
        ".global hadal_enter, hadal_enter_end, hadal_leave_look, hadal_leave_stack, hadal_leave_jump",
        "hadal_enter:",
        "cmp dword ptr gs:[{handlers}], 0",
        "jne 3f",
        enter_call!(),
        "hadal_enter_end:",
        "mov rdi, rsp",
        "xor ebp, ebp",
        "inc qword ptr gs:[{system_calls}]",
        "sti",
        "call qword ptr [rip + {handler}]",
        "hadal_leave_look:",
        "cli",
        "cmp dword ptr gs:[{attention}], 0",
        "jne 5f",
        "4:",
        "cmp qword ptr [rsp + {full_restore}], 0",
        "jne 2f",
        load_of_call!(),
        "mov r11, [rsp + {r11}]",
        // Interrupts are on from here. One that comes before the next instruction goes back to the look at the attention
        // bits, one behind it finds the program's registers.
        "push qword ptr [rsp + {rflags}]",
        "popfq",
        "hadal_leave_stack:",
        "mov rsp, [rsp + {rsp}]",
        "hadal_leave_jump:",
        "jmp rcx",
        "2:",
        restore_registers!(),
        "add rsp, 16",
        "iretq",
        "5:",
        "mov rdi, rsp",
        "call {finish}",
        "jmp 4b",
        // In a handler the kernel stack may be in use: `handler_fault` knows this instruction.
        "3:",
        ".global hadal_system_call_in_handler",
        "hadal_system_call_in_handler:",
        "ud2",
        handlers = const offset::HANDLERS,
        program_rsp = const offset::PROGRAM_RSP,
        kernel_stack_top = const offset::KERNEL_STACK_TOP,
        data = const selector::KERNEL_DATA,
        code = const selector::KERNEL_CODE,
        syscall = const SYSCALL_VECTOR,
        system_calls = const offset::SYSTEM_CALLS,
        attention = const offset::ATTENTION,
        full_restore = const offset_of!(TrapFrame, full_restore),
        rbp = const offset_of!(TrapFrame, rbp),
        r10 = const offset_of!(TrapFrame, r10),
        r9 = const offset_of!(TrapFrame, r9),
        r8 = const offset_of!(TrapFrame, r8),
        rax = const offset_of!(TrapFrame, rax),
        rdx = const offset_of!(TrapFrame, rdx),
        rsi = const offset_of!(TrapFrame, rsi),
        rdi = const offset_of!(TrapFrame, rdi),
        r11 = const offset_of!(TrapFrame, r11),
        rflags = const offset_of!(TrapFrame, rflags),
        rip = const offset_of!(TrapFrame, rip),
        rsp = const offset_of!(TrapFrame, rsp),
        handler = sym SYSTEM_CALL,
        finish = sym attend_handler,
    );
}

/// Where system calls go: the address of a [`SystemCall`].
pub(super) static SYSTEM_CALL: AtomicUsize = AtomicUsize::new(0);

/// Names the function for system calls; before the first program.
pub fn set_system_call(function: SystemCall) {
    SYSTEM_CALL.store(function as usize, Ordering::Release);
}

/// Where a call through a table continues that has to attend: RSP is the program's and points to the return address, RAX
/// holds the result, and the registers that a C function keeps are the program's. The frame is that of the program right
/// after the call.
///
/// # Safety
/// Reached by a jump from an entry ([`crate::call_entry`]), on the program's stack.
#[unsafe(naked)]
#[unsafe(link_section = ".text.leave")]
pub unsafe extern "C" fn attend_call() {
    naked_asm!(
        // Results are in RAX and RDX. The load may fault: it is the program's stack, and a fault of the program.
        "mov rcx, [rsp]",
        "lea r11, [rsp + 8]",
        "mov rsp, gs:[{kernel_stack_top}]",
        "push {data}",
        "push r11",
        "pushfq",
        "push {code}",
        "push rcx",
        // Flags of the program that the kernel must not run with; interrupts are off until the return.
        "push 2",
        "popfq",
        "push 0",
        "push {call}",
        save_registers!(),
        "mov rdi, rsp",
        "call {handler}",
        restore_registers!(),
        "add rsp, 16",
        "iretq",
        kernel_stack_top = const offset::KERNEL_STACK_TOP,
        data = const selector::KERNEL_DATA,
        code = const selector::KERNEL_CODE,
        call = const CALL_VECTOR,
        handler = sym attend_call_handler,
    );
}

/// A program that has turned interrupts off, or whose handler made the call, attends later.
extern "C" fn attend_call_handler(frame: &mut TrapFrame) {
    if frame.rflags & INTERRUPT_FLAG != 0 && !handler::is_running() {
        finish(frame);
    }
}
