// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The ways into and out of the kernel where programs run in ring 3 ([`super::ring`]): as those of ring 0, which they take the
//! place of, but `%gs` is the program's there, and the kernel's is swapped in and out.
//!
//! A trap that may interrupt the kernel's own first or last instructions, where `%gs` is the program's still or again, cannot
//! tell from the saved privilege: it compares the base with the address of the CPU's block, which lies above the frame on each
//! trap stack. A program that has given its `%gs` that very base is none the wiser, and the swap makes no difference.

use core::arch::{global_asm, naked_asm};
use core::mem::offset_of;

use super::entry::{BLOCK_AT, attend_handler, enter_call, load_of_call, restore_registers, save_registers};
use super::interrupt::{end_held_halt, interrupt_handler, nmi_handler};
use super::{SYSCALL_VECTOR, TrapFrame, entry, fault, selector, system_call};
use crate::cpu::percpu::{MSR_GS_BASE, offset};
use crate::interrupts::irq;
use crate::threads::context;

entry::stubs!("hadal_isolated_stubs", nmi_entry, fault_entry, held_entry, interrupt_entry);

unsafe extern "C" {
    safe static hadal_isolated_stubs: u8;
}

/// Address of the stub of a vector.
pub(super) fn stub(number: usize) -> u64 {
    entry::stub_at(&hadal_isolated_stubs, number)
}

/// Address of the entry of system calls.
pub(super) fn system_call_address() -> u64 {
    system_call_entry as *const () as u64
}

// Flags that the kernel runs with: of those of the interrupted code AC would give it the program's memory.
macro_rules! kernel_flags {
    () => {
        "push 2
         popfq"
    };
}

// Behind the saved registers of what may have interrupted an entry or exit: the kernel's %gs, and in RBX whether it has been
// swapped in. RSI is the address of the block.
macro_rules! enter_paranoid {
    () => {
        "mov rsi, [rsp + {block}]
         cmp byte ptr [rip + {fsgsbase}], 0
         je 81f
         rdgsbase rax
         82:
         xor ebx, ebx
         cmp rax, rsi
         je 83f
         swapgs
         inc ebx
         jmp 83f
         81:
         mov ecx, {gs_base}
         rdmsr
         shl rdx, 32
         or rax, rdx
         jmp 82b
         83:"
    };
}

// What undoes it: a frame that goes to the program does so with the program's %gs, whatever it was entered with.
macro_rules! leave_paranoid {
    () => {
        "test byte ptr [rsp + {cs}], 3
         jnz 84f
         test ebx, ebx
         jz 85f
         84:
         swapgs
         85:"
    };
}

/// SYSCALL: RCX holds the return address, R11 the flags, RSP is the program's still. Interrupts are off.
#[unsafe(naked)]
unsafe extern "C" fn system_call_entry() {
    naked_asm!(
        "swapgs",
        enter_call!(),
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
        load_of_call!(),
        "mov r11, [rsp + {rflags}]",
        "mov rsp, [rsp + {rsp}]",
        "swapgs",
        "sysretq",
        "2:",
        restore_registers!(),
        "add rsp, 16",
        "swapgs",
        "iretq",
        "5:",
        "mov rdi, rsp",
        "call {finish}",
        "jmp 4b",
        program_rsp = const offset::PROGRAM_RSP,
        kernel_stack_top = const offset::KERNEL_STACK_TOP,
        data = const selector::PROGRAM_DATA,
        code = const selector::PROGRAM_CODE,
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
        rflags = const offset_of!(TrapFrame, rflags),
        rip = const offset_of!(TrapFrame, rip),
        rsp = const offset_of!(TrapFrame, rsp),
        handler = sym system_call::SYSTEM_CALL,
        finish = sym attend_handler,
    );
}

/// Interrupts find interrupts on, which they are in neither entry nor exit: the saved privilege says whose `%gs` it is.
#[unsafe(naked)]
unsafe extern "C" fn interrupt_entry() {
    naked_asm!(
        save_registers!(),
        "test byte ptr [rsp + {cs}], 3",
        "jz 6f",
        "swapgs",
        "6:",
        kernel_flags!(),
        "mov rsi, [rsp + {block}]",
        "mov rdi, rsp",
        "call {handler}",
        "test rax, rax",
        "jz 2f",
        "mov rsp, rax",
        "mov rdi, rax",
        "call {attend}",
        "2:",
        "test byte ptr [rsp + {cs}], 3",
        "jz 7f",
        "swapgs",
        "7:",
        restore_registers!(),
        "add rsp, 16",
        "iretq",
        block = const BLOCK_AT,
        cs = const offset_of!(TrapFrame, cs),
        handler = sym interrupt_handler::<true>,
        attend = sym attend_handler,
    );
}

/// As in ring 0. A program that has jumped to that place is ended by its next instruction.
#[unsafe(naked)]
unsafe extern "C" fn held_entry() {
    naked_asm!(
        "cmp qword ptr [rsp + {rip}], offset hadal_held_halt_end",
        "jne {interrupt}",
        "test byte ptr [rsp + {cs}], 3",
        "jnz {interrupt}",
        save_registers!(),
        kernel_flags!(),
        "call {end}",
        restore_registers!(),
        "add rsp, 16",
        "iretq",
        // Behind the number of the vector and the error code.
        rip = const 16,
        cs = const 24,
        interrupt = sym interrupt_entry,
        end = sym end_held_halt,
    );
}

#[unsafe(naked)]
unsafe extern "C" fn nmi_entry() {
    naked_asm!(
        save_registers!(),
        enter_paranoid!(),
        kernel_flags!(),
        "mov rdi, rsp",
        "call {handler}",
        leave_paranoid!(),
        restore_registers!(),
        "add rsp, 16",
        "iretq",
        block = const BLOCK_AT,
        fsgsbase = sym context::FSGSBASE,
        gs_base = const MSR_GS_BASE,
        cs = const offset_of!(TrapFrame, cs),
        handler = sym nmi_handler,
    );
}

/// Faults. RBX is a register that C functions keep, on whatever stack they go on.
#[unsafe(naked)]
unsafe extern "C" fn fault_entry() {
    naked_asm!(
        save_registers!(),
        enter_paranoid!(),
        kernel_flags!(),
        "mov rdi, rsp",
        "call {move_fault}",
        "mov rsp, rax",
        "mov rdi, rax",
        "call {handler}",
        leave_paranoid!(),
        restore_registers!(),
        "add rsp, 16",
        "iretq",
        block = const BLOCK_AT,
        fsgsbase = sym context::FSGSBASE,
        gs_base = const MSR_GS_BASE,
        cs = const offset_of!(TrapFrame, cs),
        move_fault = sym fault::move_fault::<true>,
        handler = sym fault::fault_handler,
    );
}

/// [`entry::restore`] to ring 3.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn restore(frame: &TrapFrame) -> ! {
    naked_asm!("mov rsp, rdi", restore_registers!(), "add rsp, 16", "swapgs", "iretq")
}
