// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The entry and return code of all traps (see the head of [`super`] for the rules it keeps).

use core::arch::{global_asm, naked_asm};
use core::mem::offset_of;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::{
    Access, CALL_VECTOR, INTERRUPT_FLAG, SYSCALL_VECTOR, SystemCall, TrapFrame, hooks, selector, vector,
};
use crate::handler::{self, Misstep};
use crate::percpu::{self, offset};
use crate::trace::{self, Kind};
use crate::{apic, call, irq, tlb, user};

// One stub per vector, 16 bytes each. Vectors without an error code push a 0 in its place.
global_asm!(
    ".pushsection .text.stubs, \"ax\", @progbits",
    ".balign 16",
    ".global hadal_stubs",
    "hadal_stubs:",
    ".set i, 0",
    ".rept 256",
    ".balign 16",
    ".if i == 8 || (i >= 10 && i <= 14) || i == 17 || i == 21 || i == 29 || i == 30",
    ".else",
    "push 0",
    ".endif",
    "push i",
    ".if i == 2 || i == 8 || i == 18",
    "jmp {critical}",
    ".elseif i < 32",
    "jmp {fault}",
    ".else",
    "jmp {interrupt}",
    ".endif",
    ".set i, i + 1",
    ".endr",
    ".popsection",
    critical = sym critical_entry,
    fault = sym fault_entry,
    interrupt = sym interrupt_entry,
);

unsafe extern "C" {
    safe static hadal_stubs: u8;
}

/// Address of the stub of a vector.
pub(super) fn stub(number: usize) -> u64 {
    core::ptr::from_ref(&hadal_stubs) as u64 + 16 * number as u64
}

/// Address of the SYSCALL entry.
pub(super) fn system_call_entry() -> u64 {
    system_call as *const () as u64
}

// The pushes below the vector, and what undoes them. `cld`: the interrupted code may have set DF.
macro_rules! save_registers {
    () => {
        "push rdi
         push rsi
         push rdx
         push rcx
         push rax
         push r8
         push r9
         push r10
         push r11
         push rbx
         push rbp
         push r12
         push r13
         push r14
         push r15
         push 1
         push 0
         cld"
    };
}
macro_rules! restore_registers {
    () => {
        "add rsp, 16
         pop r15
         pop r14
         pop r13
         pop r12
         pop rbp
         pop rbx
         pop r11
         pop r10
         pop r9
         pop r8
         pop rax
         pop rcx
         pop rdx
         pop rsi
         pop rdi"
    };
}

/// SYSCALL from ring 0: RCX holds the return address, R11 the flags, RSP is still the program's and must not be used.
#[unsafe(naked)]
unsafe extern "C" fn system_call() {
    naked_asm!(
        "cmp dword ptr gs:[{handlers}], 0",
        "jne 3f",
        "mov gs:[{program_rsp}], rsp",
        "mov rsp, gs:[{kernel_stack_top}]",
        "push {data}",
        "push qword ptr gs:[{program_rsp}]",
        "push r11",
        "push {code}",
        "push rcx",
        "push 0",
        "push {syscall}",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push rax",
        "push r8",
        "push r9",
        "push r10",
        "push r11",
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "push 0",
        "push 0",
        "mov rdi, rsp",
        "xor ebp, ebp",
        "inc qword ptr gs:[{system_calls}]",
        "sti",
        "call qword ptr [rip + {handler}]",
        "cli",
        "cmp dword ptr gs:[{attention}], 0",
        "jne 5f",
        "4:",
        "cmp qword ptr [rsp + {full_restore}], 0",
        "jne 2f",
        // What a C function keeps is the program's still, but for the frame pointer.
        "mov rbp, [rsp + {rbp}]",
        "mov r10, [rsp + {r10}]",
        "mov r9, [rsp + {r9}]",
        "mov r8, [rsp + {r8}]",
        "mov rax, [rsp + {rax}]",
        "mov rdx, [rsp + {rdx}]",
        "mov rsi, [rsp + {rsi}]",
        "mov rdi, [rsp + {rdi}]",
        "mov rcx, [rsp + {rip}]",
        "mov rsp, [rsp + {rsp}]",
        // STI takes effect after the next instruction, so no interrupt can come between.
        "sti",
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
        rip = const offset_of!(TrapFrame, rip),
        rsp = const offset_of!(TrapFrame, rsp),
        handler = sym SYSTEM_CALL,
        finish = sym attend_handler,
    );
}

/// Where system calls go: the address of a [`SystemCall`].
static SYSTEM_CALL: AtomicUsize = AtomicUsize::new(0);

/// Names the function for system calls; before the first program.
pub fn set_system_call(function: SystemCall) {
    SYSTEM_CALL.store(function as usize, Ordering::Release);
}

/// Turns interrupts off and handles attention until there is none: the last step before program code.
fn finish(frame: &mut TrapFrame) {
    loop {
        irq::mask();
        if percpu::pending_attention() == 0 {
            return;
        }
        irq::unmask();
        hooks().attend(frame);
    }
}

/// Faults: on the fault stack, interrupts off. `move_fault` says where to continue.
#[unsafe(naked)]
unsafe extern "C" fn fault_entry() {
    naked_asm!(
        save_registers!(),
        "mov rdi, rsp",
        "call {move_fault}",
        "mov rsp, rax",
        "mov rdi, rax",
        "call {handler}",
        restore_registers!(),
        "add rsp, 16",
        "iretq",
        move_fault = sym move_fault,
        handler = sym fault_handler,
    );
}

/// Copies the frame to the stack on which the fault is handled, and returns the copy.
extern "C" fn move_fault(frame: &mut TrapFrame) -> *mut TrapFrame {
    if frame.vector == vector::PAGE_FAULT {
        // SAFETY: reading CR2 in ring 0 has no effect.
        unsafe { core::arch::asm!("mov {}, cr2", out(reg) frame.fault_address, options(nomem, nostack)) };
    }
    let block = percpu::this();
    // The kernel stack belongs to what the handler interrupted.
    if handler::is_running() {
        return frame;
    }
    let top = block.kernel_stack_top.load(Ordering::Relaxed);
    let bottom = top.saturating_sub(crate::context::KERNEL_STACK_SIZE as u64);
    let below = if frame.is_program() { top } else { frame.rsp & !15 };
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
extern "C" fn fault_handler(frame: &mut TrapFrame) {
    if handler::is_running() && handler_fault(frame) {
        return;
    }
    if frame.is_program() {
        irq::unmask();
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
            irq::mask();
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
    hooks().kernel_fault(frame);
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
    give_up_handler(frame, if is_call { Misstep::SystemCall } else { Misstep::Fault });
    true
}

fn give_up_handler(frame: &mut TrapFrame, misstep: Misstep) {
    hooks().handler_failed(percpu::this().handler.handler(), misstep, frame);
    handler::abandon(frame);
}

/// Interrupts: handled on the interrupt stack; continue on the thread's kernel stack if the program has to attend.
#[unsafe(naked)]
unsafe extern "C" fn interrupt_entry() {
    naked_asm!(
        save_registers!(),
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
        handler = sym interrupt_handler,
        attend = sym attend_handler,
    );
}

/// Returns where the frame continues on the thread's kernel stack, or null to return to the interrupted code.
extern "C" fn interrupt_handler(frame: &mut TrapFrame) -> *mut TrapFrame {
    let block = percpu::this();
    // Before the handler is looked up: see `irq::synchronize`.
    block.interrupts.fetch_add(1, Ordering::SeqCst);
    let number = frame.vector as u8;
    trace::point(Kind::InterruptEnter, frame.vector, frame.rip);
    match number {
        irq::VECTOR_TIMER => {
            apic::end_of_interrupt();
            hooks().timer(frame);
        }
        irq::VECTOR_RESCHEDULE => {
            apic::end_of_interrupt();
            hooks().reschedule();
        }
        irq::VECTOR_TLB => {
            apic::end_of_interrupt();
            tlb::service();
        }
        irq::VECTOR_STOP => {
            apic::end_of_interrupt();
            hooks().stop(frame);
        }
        irq::VECTOR_SPURIOUS => {}
        _ => {
            irq::dispatch(number);
            apic::end_of_interrupt();
        }
    }
    trace::point(Kind::InterruptExit, frame.vector, 0);
    let done = block.interrupts_done.load(Ordering::Relaxed);
    block.interrupts_done.store(done + 1, Ordering::Release);
    if !frame.is_program() {
        frame.rip = call::before_check(frame.rip);
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

extern "C" fn attend_handler(frame: &mut TrapFrame) {
    finish(frame);
}

/// Where a call through a table continues that has to attend: RSP is the program's and points to the return address, RAX
/// holds the result, and the registers that a C function keeps are the program's. The frame is that of the program right
/// after the call.
///
/// # Safety
/// Reached by a jump from an entry ([`crate::call_entry`]), on the program's stack.
#[unsafe(naked)]
pub unsafe extern "C" fn attend_call() {
    naked_asm!(
        // Results are in RAX and RDX.
        "pushfq",
        "pop r10",
        "lea r11, [rsp + 8]",
        "mov rcx, [rsp]",
        "mov rsp, gs:[{kernel_stack_top}]",
        "push {data}",
        "push r11",
        "push r10",
        "push {code}",
        "push rcx",
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

/// NMI, double fault, machine check: each on a stack of its own, never moved.
#[unsafe(naked)]
unsafe extern "C" fn critical_entry() {
    naked_asm!(
        save_registers!(),
        "mov rdi, rsp",
        "call {handler}",
        restore_registers!(),
        "add rsp, 16",
        "iretq",
        handler = sym critical_handler,
    );
}

extern "C" fn critical_handler(frame: &mut TrapFrame) {
    if frame.vector != vector::NMI {
        hooks().kernel_fault(frame);
    }
    if handler::is_running() {
        // In its code only: called from there, the kernel may hold a lock.
        if frame.is_program() && handler::is_doomed() {
            give_up_handler(frame, Misstep::Stuck);
        }
        return;
    }
    hooks().non_maskable(frame);
    if frame.is_program() {
        // Program code in ring 0 can turn interrupts off; whoever sent this wants the ones that wait to be taken.
        frame.rflags |= INTERRUPT_FLAG;
    }
}

/// Leaves the kernel for program code with the registers of `frame`; the thread's kernel stack is empty afterwards.
pub fn enter_program(frame: &TrapFrame) -> ! {
    let mut frame = *frame;
    frame.sanitize();
    assert!(frame.is_program(), "program code is in the low half");
    finish(&mut frame);
    // SAFETY: the frame lies on the kernel stack of this thread, is sanitised, and everything above it is given up.
    unsafe { restore(&frame) }
}

#[unsafe(naked)]
unsafe extern "C" fn restore(frame: &TrapFrame) -> ! {
    naked_asm!("mov rsp, rdi", restore_registers!(), "add rsp, 16", "iretq")
}

/// Keeps the frame's size in step with the pushes: 17 registers and bookkeeping words, vector, error, five hardware words.
const _: () = assert!(size_of::<TrapFrame>() == 8 * 24);
