// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Traps: the one register frame, and what the layers above do when one happens.
//!
//! Nothing is written to an interrupted program's stack. The three ways in (calls through a table are a
//! fourth, [`call`]):
//! - **system calls** take the thread's kernel stack from `%gs` and build the frame there;
//! - **faults** enter on an interrupt-stack-table stack of the CPU and move at once: to the thread's kernel stack when
//!   program code faulted, below the interrupted stack pointer when kernel code touched program memory. So a fault may
//!   wait, and the entry stack is free for the next one;
//! - **interrupts** are handled where they enter, with interrupts off. Only when the interrupted program has something to
//!   do before it goes on ([`crate::cpu::percpu::attention`]) does the frame move to the thread's kernel stack.
//!
//! The three are in `trap/system_call.rs`, `trap/fault.rs` and `trap/interrupt.rs`, what they have in common in
//! `trap/entry.rs`, whose code a trap interrupted in `trap/origin.rs`, the descriptor tables in `trap/tables.rs`. Where
//! programs run in ring 3 ([`ring`]) the entries of `trap/isolated.rs` take the place of those.

use spin::Once;

use crate::interrupts::handler::{Handler, HandlerError};
use crate::interrupts::irq::Off;

pub mod call;
#[cfg(target_os = "none")]
mod entry;
#[cfg(target_os = "none")]
mod fault;
#[cfg(target_os = "none")]
mod interrupt;
#[cfg(target_os = "none")]
mod isolated;
#[cfg(target_os = "none")]
mod origin;
pub mod ring;
#[cfg(target_os = "none")]
pub mod sample;
pub mod spinning;
#[cfg(target_os = "none")]
mod system_call;
#[cfg(target_os = "none")]
mod tables;

#[cfg(target_os = "none")]
pub use entry::enter_program;
#[cfg(target_os = "none")]
#[doc(hidden)]
pub use system_call::attend_call;
#[cfg(target_os = "none")]
pub use system_call::set_system_call;
#[cfg(target_os = "none")]
pub(crate) use tables::load;

/// All general registers of interrupted code, in the order of the entry code's pushes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[expect(missing_docs, reason = "the fields are the registers of their names")]
pub struct TrapFrame {
    /// CR2 for a page fault.
    pub fault_address: u64,
    /// Non-zero when the return must restore every register (IRETQ), which also makes RCX and R11 those of the frame.
    pub full_restore: u64,
    pub r15: u64,
    pub r14: u64,
    pub r13: u64,
    pub r12: u64,
    pub rbp: u64,
    pub rbx: u64,
    pub r11: u64,
    pub r10: u64,
    pub r9: u64,
    pub r8: u64,
    pub rax: u64,
    pub rcx: u64,
    pub rdx: u64,
    pub rsi: u64,
    pub rdi: u64,
    /// Exception or interrupt vector, or [`SYSCALL_VECTOR`].
    pub vector: u64,
    /// Error code of the exception, or 0.
    pub error: u64,
    pub rip: u64,
    pub cs: u64,
    pub rflags: u64,
    pub rsp: u64,
    pub ss: u64,
}

/// [`TrapFrame::vector`] of a system call.
pub const SYSCALL_VECTOR: u64 = 0x100;
/// [`TrapFrame::vector`] of a call through a table ([`crate::trap::call`]) that has to attend before it returns.
pub const CALL_VECTOR: u64 = 0x101;

/// Flags that a program may set for itself: CF, PF, AF, ZF, SF, TF, DF, OF, AC, ID.
pub const PROGRAM_FLAGS: u64 = 0x24_0dd5;
/// The interrupt flag: always on in program code.
pub const INTERRUPT_FLAG: u64 = 1 << 9;

/// What a program gets that asks for `rflags`.
#[inline]
pub fn program_flags(rflags: u64) -> u64 {
    rflags & PROGRAM_FLAGS | INTERRUPT_FLAG | 2
}

impl TrapFrame {
    /// A frame that starts program code at `rip` with stack pointer `rsp` and all other registers 0.
    pub fn program(rip: u64, rsp: u64) -> Self {
        let mut frame = Self { rip, rsp, full_restore: 1, ..Self::default() };
        frame.sanitize();
        frame
    }

    /// General registers and instruction pointer, in the order of their DWARF numbers (x86-64 psABI, figure 3.36).
    pub fn dwarf_registers(&self) -> [u64; 17] {
        let f = self;
        [
            f.rax, f.rdx, f.rcx, f.rbx, f.rsi, f.rdi, f.rbp, f.rsp, f.r8, f.r9, f.r10, f.r11, f.r12, f.r13,
            f.r14, f.r15, f.rip,
        ]
    }

    /// The bits of a selector that say the ring.
    const RING_BITS: u64 = 3;

    /// Whether program code was interrupted. In ring 0: any that is not in the kernel's text; of code there see the head of
    /// `trap/origin.rs`.
    #[inline]
    pub fn is_program(&self) -> bool {
        if ring::isolates() {
            return self.is_from_ring_3();
        }
        crate::memory::layout::is_program(self.rip) || !self.is_in_kernel_text()
    }

    /// Whether a page fault is that of an access to memory of the program, present, which an instruction of ring 3 made with
    /// the rights of the kernel: those that processors make so are to descriptor tables only, and none lies there.
    #[cfg(target_os = "none")]
    fn is_implicit_access_to_program(&self) -> bool {
        const PRESENT: u64 = 1;
        const BY_USER: u64 = 1 << 2;
        self.vector == vector::PAGE_FAULT
            && self.is_from_ring_3()
            && self.error & (PRESENT | BY_USER) == PRESENT
            && crate::memory::layout::is_program(self.fault_address)
    }

    /// Whether the processor was in ring 3.
    #[inline]
    fn is_from_ring_3(&self) -> bool {
        self.cs & Self::RING_BITS != 0
    }

    /// Whether code of the kernel was interrupted, whoever ran it.
    pub(crate) fn is_in_kernel_text(&self) -> bool {
        #[cfg(target_os = "none")]
        return origin::is_kernel_text(self.rip);
        #[cfg(not(target_os = "none"))]
        return self.rip >= crate::memory::layout::KERNEL_BASE as u64;
    }

    /// What an exception is about: the address for a page fault, else the instruction.
    pub fn fault_place(&self) -> u64 {
        if self.vector == vector::PAGE_FAULT { self.fault_address } else { self.rip }
    }

    /// Makes the frame fit to return to program code with: selectors, flags.
    pub fn sanitize(&mut self) {
        (self.cs, self.ss) = ring::program_selectors();
        self.rflags = program_flags(self.rflags);
    }
}

/// Segment selectors.
pub mod selector {
    /// Code of kernel and ring-0 program.
    pub const KERNEL_CODE: u16 = 0x08;
    /// Data of kernel and ring-0 program; SYSCALL needs it right behind the code.
    pub const KERNEL_DATA: u16 = 0x10;
    /// Data of a program in ring 3, by the number that it has on Linux.
    pub const PROGRAM_DATA: u16 = 0x28 | 3;
    /// Code of a program in ring 3, by the number that it has on Linux; SYSRET needs it right behind the data.
    pub const PROGRAM_CODE: u16 = 0x30 | 3;
}

/// Exception vectors (Intel SDM vol. 3, table 6-1).
#[expect(missing_docs, reason = "the names are the manual's")]
pub mod vector {
    pub const DIVIDE_ERROR: u64 = 0;
    pub const DEBUG: u64 = 1;
    pub const NMI: u64 = 2;
    pub const BREAKPOINT: u64 = 3;
    pub const OVERFLOW: u64 = 4;
    pub const BOUND: u64 = 5;
    pub const INVALID_OPCODE: u64 = 6;
    pub const DEVICE_NOT_AVAILABLE: u64 = 7;
    pub const DOUBLE_FAULT: u64 = 8;
    pub const SEGMENT_NOT_PRESENT: u64 = 11;
    pub const STACK_FAULT: u64 = 12;
    pub const GENERAL_PROTECTION: u64 = 13;
    pub const PAGE_FAULT: u64 = 14;
    pub const X87: u64 = 16;
    pub const ALIGNMENT_CHECK: u64 = 17;
    pub const MACHINE_CHECK: u64 = 18;
    pub const SIMD: u64 = 19;
}

/// How memory was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An instruction fetch.
    Execute,
}

impl Access {
    /// Decodes the error code of a page fault.
    pub fn from_error(error: u64) -> Self {
        if error & 1 << 4 != 0 {
            Self::Execute
        } else if error & 1 << 1 != 0 {
            Self::Write
        } else {
            Self::Read
        }
    }
}

/// What the layers above do about a system call of a program, whose registers are in the frame; on the thread's kernel stack
/// with interrupts on. Not one of the [`Hooks`], because it is called without a detour.
pub type SystemCall = extern "C" fn(&mut TrapFrame);

/// What the layers above do about other traps. Those for interrupts say where they run; the others run on the
/// thread's kernel stack with interrupts on, and may block.
pub trait Hooks: Sync {
    /// Program code raised an exception.
    fn program_fault(&self, frame: &mut TrapFrame);
    /// Kernel code touched program memory that is not mapped so; returns whether it may try again.
    fn resolve(&self, address: u64, access: Access) -> bool;
    /// [`crate::cpu::percpu::attention`] bits are set and the frame is about to return to program code.
    fn attend(&self, frame: &mut TrapFrame);
    /// The one-shot timer fired and interrupted this; on the interrupt stack.
    fn timer(&self, frame: &TrapFrame, off: Off<'_>);
    /// Another CPU asked this one to look at its inbox and signals; on the interrupt stack.
    fn reschedule(&self, off: Off<'_>);
    /// Kernel code faulted, or the CPU reported a double fault or a machine check: report and stop.
    fn kernel_fault(&self, frame: &TrapFrame) -> !;
    /// A non-maskable interrupt; on a stack of its own, at any instruction: only atomic accesses, no lock.
    fn non_maskable(&self, frame: &TrapFrame);
    /// The program has made `%gs` point elsewhere than to the CPU's block, where it points again; on a trap stack, interrupts
    /// off: must not wait.
    fn per_cpu_pointer_lost(&self, frame: &TrapFrame);
    /// A handler of the program broke a rule and is given up; on a stack of its own, interrupts off: must not wait.
    fn handler_failed(&self, handler: Handler, error: HandlerError, frame: &TrapFrame);
    /// Another CPU stops the machine, or holds this CPU as soon as this returns; on the interrupt stack, interrupts off.
    fn stop(&self, frame: &TrapFrame);
}

static HOOKS: Once<&'static dyn Hooks> = Once::new();

/// Installs the hooks; the first call wins.
pub fn set_hooks(hooks: &'static dyn Hooks) {
    HOOKS.call_once(|| hooks);
}

/// The frame with which a thread that does not run entered the kernel from program code, if it did so by a trap.
pub fn frame_of(context: &crate::threads::context::Context) -> Option<TrapFrame> {
    let top = context.stack_top.load(core::sync::atomic::Ordering::Relaxed) as usize;
    let place = top.checked_sub(size_of::<TrapFrame>())? as *const TrapFrame;
    // SAFETY: the first words of the context's kernel stack, or of what was that: the direct map covers all memory for good,
    // and any bits are a frame. If the thread is resumed or ends meanwhile, it is a wrong line in a report at worst.
    let frame = unsafe { place.read_volatile() };
    let selectors = (frame.cs, frame.ss) == ring::program_selectors();
    (selectors && frame.is_program() && frame.vector <= SYSCALL_VECTOR).then_some(frame)
}

/// Whether an address is that of the return instruction of an entry of the call table, which faults if the program's stack is
/// gone: the one place in the kernel's text where program code may be interrupted by a signal, and goes on.
pub fn is_return_of_call(rip: u64) -> bool {
    #[cfg(target_os = "none")]
    {
        crate::trap::call::is_return(rip)
    }
    #[cfg(not(target_os = "none"))]
    {
        let _ = rip;
        false
    }
}

/// Host builds have no program to enter.
///
/// # Panics
/// Always.
#[cfg(not(target_os = "none"))]
pub fn enter_program(_first: impl FnOnce() -> TrapFrame) -> ! {
    panic!("program code runs on the kernel target only")
}

#[cfg(target_os = "none")]
fn hooks() -> &'static dyn Hooks {
    *HOOKS.get().expect("trap hooks are set before traps")
}
