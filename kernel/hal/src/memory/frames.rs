// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Frames of physical memory and who owns them.
//!
//! Which frames are used next is policy, and `hadal-mem` decides it. That no frame has two owners is not: the ledger
//! (`ledger.rs`) has a bit for each frame, and [`Block::claim`] is the one door by which memory becomes somebody's. So an
//! allocator that is wrong ends in a panic, and not in two owners of the same bytes. What is not free RAM (the kernel's
//! image, the firmware's tables, devices) belongs to somebody from the start, and cannot be claimed at all.
//!
//! A [`Block`] is memory that holds bytes and no Rust object: it is read and written by way of its owner, with the range
//! checked, and nothing else writes to physical memory. The heap and the page tables take their memory as blocks, too, by
//! [`FrameSource`], and give them back as such.

mod block;
mod chain;
pub(crate) mod ledger;
mod lent;
mod share;

use core::sync::atomic::AtomicU32;

use spin::Once;

pub use block::Block;
pub use chain::Chain;
#[cfg(not(target_os = "none"))]
pub use ledger::host_arena;
#[cfg(target_os = "none")]
pub use ledger::init;
pub use lent::Lent;
pub(crate) use share::Share;

use crate::memory::layout::PAGE_SIZE;

/// Memory as a program sees it that stands in for one in tests, whoever owns it.
///
/// # Panics
/// If a range is in no arena.
#[cfg(not(target_os = "none"))]
pub fn host_read(pa: u64, buffer: &mut [u8]) {
    assert!(ledger::is_memory(pa, buffer.len()));
    // SAFETY: bytes of an arena, which are never freed.
    unsafe { crate::memory::phys::read(pa, buffer) };
}

/// The same for writing.
#[cfg(not(target_os = "none"))]
pub fn host_write(pa: u64, data: &[u8]) {
    assert!(ledger::is_memory(pa, data.len()));
    // SAFETY: as above.
    unsafe { crate::memory::phys::write(pa, data) };
}

/// A source of naturally aligned blocks of `4096 << order` bytes.
pub trait FrameSource: Sync {
    /// Returns a block, or `None` when memory is out. The content is arbitrary.
    fn alloc(&self, order: u8) -> Option<Block>;
    /// The same for what a program can make grow: `None` already when it would come from the kernel's reserve.
    fn alloc_spare(&self, order: u8) -> Option<Block>;
    /// Whether so many bytes could be taken without touching the kernel's reserve.
    fn has_spare(&self, bytes: usize) -> bool;
    /// Takes a block back that it has given.
    fn free(&self, block: Block);
    /// A block that it has given is from now on as many single frames, which come back one by one.
    fn split(&self, pa: u64, order: u8);
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

/// Claims whole frames from the byte `pa` on for good, as `count` words; `None` if they have an owner. The words hold what
/// memory held, and may be touched as soon as the frames are mapped.
pub fn words(pa: u64, count: usize) -> Option<&'static [AtomicU32]> {
    let bytes = count.checked_mul(4)?;
    if !pa.is_multiple_of(PAGE_SIZE as u64) || !ledger::claim(pa, bytes.div_ceil(PAGE_SIZE)) {
        return None;
    }
    // SAFETY: the frames were claimed above and are never released.
    Some(unsafe { crate::memory::phys::words(pa, count) })
}

/// Fills memory with zeros that nobody owns: the kernel has no use for it, so it is the program's, or free.
///
/// # Panics
/// If a part of it has an owner.
pub fn zero_unowned(pa: u64, len: usize) {
    assert!(ledger::is_unowned(pa, len), "memory at {pa:#x} has an owner");
    // SAFETY: no Rust object is in memory that nobody owns.
    unsafe { crate::memory::phys::zero(pa, len) };
}
