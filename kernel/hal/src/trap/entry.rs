// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The entry and return code of all traps (see the head of [`super`] for the rules it keeps).

use core::arch::{global_asm, naked_asm};
use core::mem::offset_of;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::{
    Access, CALL_VECTOR, INTERRUPT_FLAG, SYSCALL_VECTOR, SystemCall, TrapFrame, hooks, origin, selector,
    vector,
};
use crate::handler::{self, Misstep};
use crate::irq::Off;
use crate::percpu::{self, MSR_GS_BASE, PerCpu, offset};
use crate::trace::{self, Kind};
use crate::{apic, context, irq, layout, standstill, tlb, user};

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
    ".if i == 2",
    "jmp {nmi}",
    ".elseif i < 32",
    "jmp {fault}",
    ".else",
    "jmp {interrupt}",
    ".endif",
    ".set i, i + 1",
    ".endr",
    ".popsection",
    nmi = sym nmi_entry,
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
#[unsafe(link_section = ".text.leave")]
unsafe extern "C" fn system_call() {
    naked_asm!(
        ".global hadal_enter, hadal_enter_end, hadal_leave_look, hadal_leave_stack, hadal_leave_jump",
        "hadal_enter:",
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
static SYSTEM_CALL: AtomicUsize = AtomicUsize::new(0);

/// Names the function for system calls; before the first program.
pub fn set_system_call(function: SystemCall) {
    SYSTEM_CALL.store(function as usize, Ordering::Release);
}

/// Turns interrupts off and handles attention until there is none: the last step before program code.
fn finish(frame: &mut TrapFrame) {
    loop {
        let masked = irq::mask();
        if percpu::pending_attention() == 0 {
            irq::end_section();
            return;
        }
        masked.unmask();
        hooks().attend(frame);
    }
}

/// Faults: on the fault stack, interrupts off. `move_fault` says where to continue.
#[unsafe(naked)]
unsafe extern "C" fn fault_entry() {
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
        move_fault = sym move_fault,
        handler = sym fault_handler,
    );
}

/// Where an entry finds the address of the CPU's block: above the frame on each trap stack.
const BLOCK_AT: usize = size_of::<TrapFrame>();

/// Makes `%gs` point to the CPU's block again: the program has loaded a selector into it, or written its base. The program
/// is to blame, whatever the trap is.
extern "C" fn repair_per_cpu_pointer(frame: &TrapFrame, block: &PerCpu) {
    // SAFETY: the address is that of this CPU's block, by its own trap stack.
    unsafe { crate::cpu::write_msr(MSR_GS_BASE, block.address() as u64) };
    block.was_lost.store(true, Ordering::Relaxed);
    // An entry that found out by a fault has the frame of the program below it.
    let stands_on_frame = !frame.is_program() && origin::is_entry_probe(frame.rip);
    // SAFETY: the stack pointer at such an instruction is the address of a complete frame on another trap stack.
    let mut blamed = unsafe { if stands_on_frame { *(frame.rsp as *const TrapFrame) } else { *frame } };
    origin::leave_entry(&mut blamed);
    hooks().per_cpu_pointer_lost(&blamed);
}

/// [`TrapFrame::full_restore`] of a fault that is the program's.
const FROM_PROGRAM: u64 = 2;

/// Copies the frame to the stack on which the fault is handled, and returns the copy.
extern "C" fn move_fault(frame: &mut TrapFrame, block: &PerCpu) -> *mut TrapFrame {
    if frame.vector == vector::PAGE_FAULT {
        // SAFETY: reading CR2 in ring 0 has no effect.
        unsafe { core::arch::asm!("mov {}, cr2", out(reg) frame.fault_address, options(nomem, nostack)) };
    }
    // The kernel stack belongs to what the handler interrupted.
    if block.handlers.load(Ordering::Relaxed) != 0 {
        return frame;
    }
    let top = block.kernel_stack_top.load(Ordering::Relaxed);
    let bottom = top.saturating_sub(crate::context::KERNEL_STACK_SIZE as u64);
    let below = if origin::is_programs(frame, block) {
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
extern "C" fn fault_handler(frame: &mut TrapFrame) {
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
        handler = sym interrupt_handler,
        attend = sym attend_handler,
    );
}

/// Returns where the frame continues on the thread's kernel stack, or null to return to the interrupted code.
extern "C" fn interrupt_handler(frame: &mut TrapFrame, block: &PerCpu) -> *mut TrapFrame {
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
    if !layout::is_program(frame.rip) && frame.is_in_kernel_text() && origin::returns_to_kernel(frame, block)
    {
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
    // An interrupt that turned out to be an instruction which the program may not execute.
    if frame.vector == vector::GENERAL_PROTECTION {
        irq::unmask();
        hooks().program_fault(frame);
    }
    finish(frame);
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

/// NMI: on a stack of its own, never moved.
#[unsafe(naked)]
unsafe extern "C" fn nmi_entry() {
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

extern "C" fn nmi_handler(frame: &mut TrapFrame) {
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
    finish(&mut frame);
    // Nothing can be executed there. The signal has a handler, or ends the program.
    while !layout::is_program(frame.rip) {
        frame.vector = vector::GENERAL_PROTECTION;
        frame.error = 0;
        hooks().program_fault(&mut frame);
        finish(&mut frame);
    }
    // SAFETY: the frame lies on the kernel stack of this thread, is sanitised, and everything above it is given up.
    unsafe { restore(&frame) }
}

#[unsafe(naked)]
unsafe extern "C" fn restore(frame: &TrapFrame) -> ! {
    naked_asm!("mov rsp, rdi", restore_registers!(), "add rsp, 16", "iretq")
}

/// Keeps the frame's size in step with the pushes: 17 registers and bookkeeping words, vector, error, five hardware words.
const _: () = assert!(size_of::<TrapFrame>() == 8 * 24);
