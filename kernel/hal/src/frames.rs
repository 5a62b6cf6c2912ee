// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where page tables and the kernel heap get physical memory from: `hadal-mem`, through one trait.

use spin::Once;

/// A source of naturally aligned blocks of `4096 << order` bytes.
pub trait FrameSource: Sync {
    /// Returns the physical address of a block, or `None` when memory is out. The content is arbitrary.
    fn alloc(&self, order: u8) -> Option<u64>;
    /// The same for what a program can make grow: `None` already when it would come from the kernel's reserve.
    fn alloc_spare(&self, order: u8) -> Option<u64>;
    /// Whether so many bytes could be taken without touching the kernel's reserve.
    fn has_spare(&self, bytes: usize) -> bool;
    /// Takes a block back. `pa` and `order` are those of an earlier [`FrameSource::alloc`].
    fn free(&self, pa: u64, order: u8);
}

static SOURCE: Once<&'static dyn FrameSource> = Once::new();

/// Names the source; the first call wins.
pub fn set_source(source: &'static dyn FrameSource) {
    SOURCE.call_once(|| source);
}

/// The source, or `None` before [`set_source`].
pub(crate) fn source() -> Option<&'static dyn FrameSource> {
    SOURCE.get().copied()
}
