// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A block of physical memory that frees itself.

use core::fmt;

use super::FrameAllocator;
use crate::buddy::FRAME_BYTES;

/// An allocated block; dropping it frees it.
pub struct Frame {
    allocator: &'static FrameAllocator,
    pa: u64,
    order: u8,
}

impl Frame {
    pub(super) fn new(allocator: &'static FrameAllocator, pa: u64, order: u8) -> Self {
        Self { allocator, pa, order }
    }

    /// Physical address of the first byte.
    pub fn phys(&self) -> u64 {
        self.pa
    }

    /// The block has `4096 << order()` bytes.
    pub fn order(&self) -> u8 {
        self.order
    }

    /// Size of the block.
    pub fn bytes(&self) -> usize {
        (FRAME_BYTES as usize) << self.order
    }

    /// Gives up ownership: the caller frees the block with [`FrameAllocator::free_raw`].
    pub fn into_phys(self) -> u64 {
        let pa = self.pa;
        core::mem::forget(self);
        pa
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        self.allocator.free_raw(self.pa, self.order);
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Frame({:#x}, order {})", self.pa, self.order)
    }
}
