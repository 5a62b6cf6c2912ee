// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A block of physical memory that frees itself.

use core::fmt;
use core::ops::Deref;

use hadal_hal::memory::frames::Block;

use super::FrameAllocator;

/// An allocated block; dropping it frees it.
pub struct Frame {
    allocator: &'static FrameAllocator,
    /// There until it is dropped or taken out.
    block: Option<Block>,
}

impl Frame {
    pub(super) fn new(allocator: &'static FrameAllocator, block: Block) -> Self {
        Self { allocator, block: Some(block) }
    }

    /// The block alone: who takes it frees it with [`FrameAllocator::free`].
    pub fn into_block(mut self) -> Block {
        self.block.take().expect("a frame has its block")
    }
}

impl Deref for Frame {
    type Target = Block;

    fn deref(&self) -> &Block {
        self.block.as_ref().expect("a frame has its block")
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.allocator.free(block);
        }
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Frame({:#x}, order {})", self.phys(), self.order())
    }
}
