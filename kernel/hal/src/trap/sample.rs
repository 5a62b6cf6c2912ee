// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where an interrupt found a CPU, for profiles: the chain of frame pointers, first on the kernel stack of the thread, then
//! in the program.
//!
//! Every step of the walk is checked, since code compiled without frame pointers leaves anything in RBP: kernel frames must
//! lie on the thread's kernel stack, program frames in program memory (read by [`crate::memory::user`], where a fault is an error),
//! and both must go upwards.

use core::sync::atomic::Ordering;

use crate::cpu::percpu;
use crate::memory::layout::{KERNEL_BASE, PROGRAM_START, is_program};
use crate::memory::user;
use crate::threads::context::KERNEL_STACK_SIZE;
use crate::trap::{TrapFrame, selector};

/// Most frames of a sample; deeper callers are left out.
pub const MAX_FRAMES: usize = 64;
/// Most bytes of a program's frame: a longer step is no frame.
const MAX_FRAME_BYTES: u64 = 1 << 20;

/// Where a CPU was.
pub struct Frames {
    addresses: [u64; MAX_FRAMES],
    len: usize,
    kernel: usize,
    leaf_caller: u64,
}

impl Frames {
    /// Addresses in the kernel, innermost first: that of an instruction, then return addresses.
    pub fn kernel(&self) -> &[u64] {
        &self.addresses[..self.kernel]
    }

    /// Addresses in the program, innermost first.
    pub fn program(&self) -> &[u64] {
        &self.addresses[self.kernel..self.len]
    }

    /// What may be the return address of the interrupted program function, or 0: the word on top of the program's stack, if
    /// it points behind a call. It is, if that function has made no frame, as compilers let those do that call no other.
    pub fn leaf_caller(&self) -> u64 {
        self.leaf_caller
    }

    fn push(&mut self, address: u64) -> bool {
        if self.len < MAX_FRAMES {
            self.addresses[self.len] = address;
            self.len += 1;
        }
        self.len < MAX_FRAMES
    }
}

/// Walks from interrupted code outwards. For interrupt handlers: interrupts are off.
pub fn interrupted(frame: &TrapFrame) -> Frames {
    let mut frames = Frames { addresses: [0; MAX_FRAMES], len: 0, kernel: 0, leaf_caller: 0 };
    if frame.is_program() {
        walk_program(&mut frames, frame.rip, frame.rbp);
        let top = user::load_u64(frame.rsp as usize).unwrap_or(0);
        frames.leaf_caller = if follows_a_call(top) { top } else { 0 };
        return frames;
    }
    let stack = KernelStack::current();
    frames.push(frame.rip);
    let left_with = walk_kernel(&mut frames, &stack, frame.rbp);
    frames.kernel = frames.len;
    if let Some((rip, rbp)) = stack.entered_from(left_with) {
        walk_program(&mut frames, rip, rbp);
    }
    frames
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

    /// Instruction and frame pointer of the program when its thread entered the kernel: a trap frame lies at the top of the
    /// stack, or, after a call through a table ([`crate::trap::call`]), twice the program's stack pointer, which points to the
    /// return address. `rbp` is what the outermost kernel frame has saved.
    fn entered_from(&self, rbp: u64) -> Option<(u64, u64)> {
        let last = self.word(self.top.checked_sub(8)?)?;
        if last == u64::from(selector::KERNEL_DATA) {
            let start = self.top - size_of::<TrapFrame>() as u64;
            let rip = self.word(start + core::mem::offset_of!(TrapFrame, rip) as u64)?;
            let rbp = self.word(start + core::mem::offset_of!(TrapFrame, rbp) as u64)?;
            return is_program_code(rip).then_some((rip, rbp));
        }
        let is_stack_pointer = is_program_code(last) && self.word(self.top - 16) == Some(last);
        let rip = is_stack_pointer.then(|| user::load_u64(last as usize).ok())??;
        is_program_code(rip).then_some((rip, rbp))
    }
}

fn is_program_code(address: u64) -> bool {
    is_program(address) && address >= PROGRAM_START as u64
}

/// Whether the instruction before an address is a call: `call rel32`, or `call r/m64` in any of its lengths (Intel SDM
/// vol. 2). Data on a stack hardly ever looks like this.
fn follows_a_call(address: u64) -> bool {
    const NEAR: u8 = 0xe8;
    const INDIRECT: u8 = 0xff;
    if !is_program_code(address) {
        return false;
    }
    let Ok(word) = user::load_u64(address as usize - 8) else { return false };
    let code = word.to_le_bytes();
    let indirect = |at: usize| code[at] == INDIRECT && code[at + 1] >> 3 & 7 == 2;
    code[3] == NEAR || (1..=6).any(indirect)
}

/// Adds return addresses on the kernel stack; returns the first frame pointer that is not on it.
fn walk_kernel(frames: &mut Frames, stack: &KernelStack, mut at: u64) -> u64 {
    while let (Some(next), Some(address)) = (stack.word(at), stack.word(at.wrapping_add(8))) {
        if address < KERNEL_BASE as u64 || !frames.push(address) {
            return 0;
        }
        // Frames of one stack go upwards.
        if next <= at && next >= stack.bottom {
            return 0;
        }
        at = next;
    }
    at
}

fn walk_program(frames: &mut Frames, rip: u64, rbp: u64) {
    let mut at = rbp;
    let mut more = frames.push(rip);
    while more && at.is_multiple_of(8) {
        let Ok(address) = user::load_u64(at.wrapping_add(8) as usize) else { return };
        let Ok(next) = user::load_u64(at as usize) else { return };
        if !is_program_code(address) {
            return;
        }
        more = frames.push(address) && next > at && next - at <= MAX_FRAME_BYTES;
        at = next;
    }
}
