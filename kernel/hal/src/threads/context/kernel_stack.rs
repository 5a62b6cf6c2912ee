// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel stack of a thread.

use alloc::boxed::Box;

use crate::memory::fallible;

/// Bytes of a kernel stack.
pub const KERNEL_STACK_SIZE: usize = 32 << 10;
/// What the lowest words of a stack hold; checked whenever a thread gives the CPU up inside a system call or a fault.
const CANARY: u64 = 0x6861_6461_6c2e_7374;

#[repr(C, align(4096))]
pub(super) struct KernelStack([u64; KERNEL_STACK_SIZE / 8]);

impl KernelStack {
    /// Memory for a stack; `None` if there is none.
    pub(super) fn new() -> Option<Box<Self>> {
        let layout = core::alloc::Layout::new::<Self>();
        fallible::admit(KERNEL_STACK_SIZE).ok()?;
        // SAFETY: the layout is not of size 0.
        let memory = unsafe { alloc::alloc::alloc(layout) }.cast::<Self>();
        if memory.is_null() {
            return None;
        }
        // SAFETY: memory from the global allocator with this layout; any bits are valid words, and only `begin_with` and the
        // stack's own code read them.
        unsafe {
            (*memory).0.as_mut_ptr().write(CANARY);
            Some(Box::from_raw(memory))
        }
    }

    /// Makes it a stack with these words and no others. Returns the address of the first one, which is the stack pointer, and that
    /// of the stack's end.
    pub(super) fn begin_with(&mut self, words: &[u64]) -> (u64, u64) {
        self.0[0] = CANARY;
        let first = self.0.len() - words.len();
        self.0[first..].copy_from_slice(words);
        let base = self.0.as_ptr() as u64;
        (base + 8 * first as u64, base + KERNEL_STACK_SIZE as u64)
    }

    /// # Panics
    /// If its thread has written below its end.
    #[inline(always)]
    pub(super) fn check(&self) {
        assert!(self.0[0] == CANARY, "a thread has overrun its kernel stack");
    }
}
