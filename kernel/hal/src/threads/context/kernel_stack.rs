// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel stack of a thread.

use alloc::boxed::Box;
use core::mem::MaybeUninit;

use crate::memory::fallible;

/// Bytes of a kernel stack.
pub const KERNEL_STACK_SIZE: usize = 32 << 10;
/// What the lowest word of a stack holds; checked whenever a thread gives the CPU up inside a system call or a fault.
const CANARY: u64 = 0x6861_6461_6c2e_7374;

const _: () = assert!(size_of::<KernelStack>() == KERNEL_STACK_SIZE);

/// Its words, from the lowest: the canary, and what the thread has pushed down to there, which this does not know of.
#[repr(C, align(4096))]
pub(super) struct KernelStack {
    canary: u64,
    words: [MaybeUninit<u64>; KERNEL_STACK_SIZE / 8 - 1],
}

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
        // SAFETY: memory from the global allocator with this layout, in which only the canary has to be written.
        unsafe {
            (&raw mut (*memory).canary).write(CANARY);
            Some(Box::from_raw(memory))
        }
    }

    /// Makes it a stack with these words and no others. Returns the address of the first one, which is the stack pointer, and that
    /// of the stack's end.
    pub(super) fn begin_with(&mut self, words: &[u64]) -> (u64, u64) {
        self.canary = CANARY;
        let first = self.words.len() - words.len();
        let top = &mut self.words[first..];
        for (place, word) in top.iter_mut().zip(words) {
            place.write(*word);
        }
        let range = top.as_ptr_range();
        (range.start as u64, range.end as u64)
    }

    /// Looks whether the stack was large enough.
    ///
    /// # Panics
    /// If its thread has written below its end.
    #[inline(always)]
    pub(super) fn check(&self) {
        assert!(self.canary == CANARY, "a thread has overrun its kernel stack");
    }
}
