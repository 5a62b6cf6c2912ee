// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the entries of all traps have in common: the stubs, the registers, the per-CPU block, and the way back to the program
//! (see the head of [`super`] for the rules that they keep).

use core::arch::{global_asm, naked_asm};
use core::sync::atomic::Ordering;

use super::{TrapFrame, fault, hooks, interrupt, isolated, origin, ring, vector};
use crate::cpu::percpu::{self, MSR_GS_BASE, PerCpu};
use crate::interrupts::irq;
use crate::memory::layout;

// One stub per vector, 16 bytes each. Vectors without an error code push a 0 in its place.
macro_rules! stubs {
    ($name:literal, $nmi:path, $fault:path, $held:path, $interrupt:path) => {
        global_asm!(
            ".pushsection .text.stubs, \"ax\", @progbits",
            ".balign 16",
            concat!(".global ", $name),
            concat!($name, ":"),
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
            ".elseif i == {held_vector}",
            "jmp {held}",
            ".else",
            "jmp {interrupt}",
            ".endif",
            ".set i, i + 1",
            ".endr",
            ".popsection",
            nmi = sym $nmi,
            fault = sym $fault,
            interrupt = sym $interrupt,
            held = sym $held,
            held_vector = const irq::VECTOR_HELD,
        );
    };
}
pub(super) use stubs;

stubs!(
    "hadal_stubs",
    interrupt::nmi_entry,
    fault::fault_entry,
    interrupt::held_entry,
    interrupt::interrupt_entry
);

unsafe extern "C" {
    safe static hadal_stubs: u8;
}

/// Address of the stub of a vector, where programs run in ring 0.
pub(super) fn stub(number: usize) -> u64 {
    stub_at(&hadal_stubs, number)
}

/// Address of the stub of a vector among those that begin at `stubs`.
pub(super) fn stub_at(stubs: &u8, number: usize) -> u64 {
    core::ptr::from_ref(stubs) as u64 + 16 * number as u64
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
// The beginning of a system call: the kernel's stack, and the frame on it.
macro_rules! enter_call {
    () => {
        "mov gs:[{program_rsp}], rsp
         mov rsp, gs:[{kernel_stack_top}]
         push {data}
         push qword ptr gs:[{program_rsp}]
         push r11
         push {code}
         push rcx
         push 0
         push {syscall}
         push rdi
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
         push 0
         push 0"
    };
}
// Its end: what a C function keeps is the program's still, but for the frame pointer. RCX is where the program goes on.
macro_rules! load_of_call {
    () => {
        "mov rbp, [rsp + {rbp}]
         mov r10, [rsp + {r10}]
         mov r9, [rsp + {r9}]
         mov r8, [rsp + {r8}]
         mov rax, [rsp + {rax}]
         mov rdx, [rsp + {rdx}]
         mov rsi, [rsp + {rsi}]
         mov rdi, [rsp + {rdi}]
         mov rcx, [rsp + {rip}]"
    };
}
pub(super) use {enter_call, load_of_call, restore_registers, save_registers};

/// Where an entry finds the address of the CPU's block: above the frame on each trap stack.
pub(super) const BLOCK_AT: usize = size_of::<TrapFrame>();

/// Makes `%gs` point to the CPU's block again: the program has loaded a selector into it, or written its base. The program
/// is to blame, whatever the trap is.
pub(super) extern "C" fn repair_per_cpu_pointer(frame: &TrapFrame, block: &PerCpu) {
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

/// Turns interrupts off and handles attention until there is none: the last step before program code.
pub(super) fn finish(frame: &mut TrapFrame) {
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

/// The last step of an entry that has found attention bits set.
pub(super) extern "C" fn attend_handler(frame: &mut TrapFrame) {
    // An interrupt that turned out to be an instruction which the program may not execute.
    if frame.vector == vector::GENERAL_PROTECTION {
        irq::unmask();
        hooks().program_fault(frame);
    }
    finish(frame);
}

/// Leaves the kernel for program code with the registers that `first` gives; the thread's kernel stack is empty afterwards.
#[inline]
pub fn enter_program(first: impl FnOnce() -> TrapFrame) -> ! {
    let mut frame = first();
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
    unsafe { if ring::isolates() { isolated::restore(&frame) } else { restore(&frame) } }
}

#[unsafe(naked)]
unsafe extern "C" fn restore(frame: &TrapFrame) -> ! {
    naked_asm!("mov rsp, rdi", restore_registers!(), "add rsp, 16", "iretq")
}

/// Keeps the frame's size in step with the pushes: 17 registers and bookkeeping words, vector, error, five hardware words.
const _: () = assert!(size_of::<TrapFrame>() == 8 * 24);
