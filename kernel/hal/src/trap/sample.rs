// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where an interrupt found a CPU, for profiles: the kernel's functions by the chain of frame pointers on the thread's kernel
//! stack, and the registers with which the thread left the program.
//!
//! Every step is checked: kernel frames must lie on the thread's kernel stack and go upwards.

use core::sync::atomic::Ordering;

use crate::cpu::percpu;
use crate::memory::layout::{KERNEL_BASE, PROGRAM_START, is_program};
use crate::memory::user;
use crate::threads::context::KERNEL_STACK_SIZE;
use crate::trap::{TrapFrame, ring};

/// Most kernel frames of a sample; deeper callers are left out.
pub const MAX_KERNEL_FRAMES: usize = 48;

/// Where a CPU was.
pub struct Interrupted {
    kernel: [u64; MAX_KERNEL_FRAMES],
    kernel_len: usize,
    /// Where the program is, or where it will go on; `None` in a thread of the kernel.
    pub program: Option<ProgramRegisters>,
}

/// Registers of a thread in program code.
#[derive(Clone, Copy, Debug)]
pub enum ProgramRegisters {
    /// All, as in [`TrapFrame::dwarf_registers`].
    All([u64; 17]),
    /// Those of which the place is known after a call through a table ([`crate::trap::call`]): `rip` is the return address.
    Caller {
        /// Return address.
        rip: u64,
        /// Stack pointer after the return.
        rsp: u64,
        /// Frame pointer.
        rbp: Option<u64>,
    },
}

impl Interrupted {
    /// Addresses of instructions in the kernel, innermost first: the one that was interrupted, then those that called.
    pub fn kernel(&self) -> &[u64] {
        &self.kernel[..self.kernel_len]
    }

    fn push(&mut self, address: u64) -> bool {
        if self.kernel_len < MAX_KERNEL_FRAMES {
            self.kernel[self.kernel_len] = address;
            self.kernel_len += 1;
        }
        self.kernel_len < MAX_KERNEL_FRAMES
    }
}

/// Looks at interrupted code. For interrupt handlers: interrupts are off.
pub fn interrupted(frame: &TrapFrame) -> Interrupted {
    let mut found = Interrupted { kernel: [0; MAX_KERNEL_FRAMES], kernel_len: 0, program: None };
    if frame.is_program() {
        found.program = Some(ProgramRegisters::All(frame.dwarf_registers()));
        return found;
    }
    found.push(frame.rip);
    if is_program_code(frame.rsp) {
        // The first or last instructions of an entry of a call table, still on the program's stack.
        found.program = called_from(frame.rsp, Some(frame.rbp));
        return found;
    }
    let stack = KernelStack::current();
    let left_with = walk_kernel(&mut found, &stack, frame.rbp);
    found.program = stack.entered_from(frame, left_with);
    found
}

/// The kernel stack of the thread that runs on this CPU.
struct KernelStack {
    bottom: u64,
    top: u64,
}

impl KernelStack {
    fn current() -> Self {
        let top = percpu::this().kernel_stack_top.load(Ordering::Relaxed);
        Self { bottom: top.saturating_sub(KERNEL_STACK_SIZE as u64), top }
    }

    /// A word of the stack.
    fn word(&self, address: u64) -> Option<u64> {
        let inside = address.is_multiple_of(8) && (self.bottom..self.top).contains(&address);
        // SAFETY: the thread's kernel stack is mapped for good, and only this CPU writes it, which is here.
        inside.then(|| unsafe { (address as *const u64).read_volatile() })
    }

    /// Registers of the program when its thread entered the kernel: a trap frame lies at the top of the stack, or, after a
    /// call through a table, twice the program's stack pointer, which points to the return address. `rbp` is what the
    /// outermost kernel frame has saved.
    fn entered_from(&self, interrupted: &TrapFrame, rbp: Option<u64>) -> Option<ProgramRegisters> {
        let twice = self.top.checked_sub(16)?;
        if (twice + 1..=self.top).contains(&interrupted.rsp) {
            // An entry of a call table has changed stacks, and is about to store the stack pointer.
            return called_from(interrupted.r11, rbp);
        }
        let last = self.word(self.top - 8)?;
        if last != ring::program_selectors().1 {
            let is_stack_pointer = self.word(twice) == Some(last);
            return is_stack_pointer.then(|| called_from(last, rbp))?;
        }
        let start = self.top - size_of::<TrapFrame>() as u64;
        if !start.is_multiple_of(align_of::<TrapFrame>() as u64) || start < self.bottom {
            return None;
        }
        // SAFETY: as in `word`; a trap frame consists of integers, for which any bytes will do.
        let frame = unsafe { (start as *const TrapFrame).read_volatile() };
        is_program_code(frame.rip).then(|| ProgramRegisters::All(frame.dwarf_registers()))
    }
}

/// Registers after the return from a call: `stack` points to the return address.
fn called_from(stack: u64, rbp: Option<u64>) -> Option<ProgramRegisters> {
    let rip = is_program_code(stack).then(|| user::load_u64(stack as usize).ok())??;
    let rsp = stack + 8;
    is_program_code(rip).then_some(ProgramRegisters::Caller { rip, rsp, rbp })
}

fn is_program_code(address: u64) -> bool {
    is_program(address) && address >= PROGRAM_START as u64
}

/// Adds callers on the kernel stack; returns the first frame pointer that is not on it.
fn walk_kernel(found: &mut Interrupted, stack: &KernelStack, mut at: u64) -> Option<u64> {
    while let (Some(next), Some(address)) = (stack.word(at), stack.word(at.wrapping_add(8))) {
        // Before the return address is the call.
        if address < KERNEL_BASE as u64 || !found.push(address - 1) {
            return None;
        }
        // Frames of one stack go upwards.
        if next <= at && next >= stack.bottom {
            return None;
        }
        at = next;
    }
    Some(at)
}
