// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Frames on their way to being freed.
//!
//! Frames that were unmapped must not be used again while a CPU may still have a translation to them, and giving back a
//! gigabyte must not need memory. So they are linked through the allocator's own metadata: a chain is two words, however long.

use core::sync::atomic::Ordering;

use super::{FrameAllocator, bad_frame};
use crate::buddy::{FRAME_BYTES, Use};

const END: u32 = u32::MAX;

/// A list of blocks to be freed together by [`FrameAllocator::free_chain`]; dropping it leaks them.
#[derive(Debug)]
#[must_use = "dropping a chain leaks its frames"]
pub struct FrameChain {
    first: u32,
    last: u32,
    bytes: u64,
}

impl Default for FrameChain {
    fn default() -> Self {
        Self::new()
    }
}

impl FrameChain {
    /// An empty chain.
    pub const fn new() -> Self {
        Self { first: END, last: END, bytes: 0 }
    }

    /// Memory in the chain.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}

impl FrameAllocator {
    /// Adds an allocated block to a chain.
    ///
    /// # Panics
    /// If no block of that address and order is out.
    pub fn chain_push(&self, chain: &mut FrameChain, pa: u64, order: u8) {
        let (_, arena, frame) = self.locate(pa, order);
        if let Err(found) = arena.claim(frame, Use::Allocated(order), Use::Doomed(order)) {
            bad_frame("free", pa, order, found);
        }
        arena.link(frame).store(chain.first, Ordering::Relaxed);
        if chain.is_empty() {
            chain.last = frame;
        }
        chain.first = frame;
        chain.bytes += FRAME_BYTES << order;
    }

    /// Moves all blocks of `other` to `chain`.
    pub fn chain_join(&self, chain: &mut FrameChain, other: FrameChain) {
        if other.is_empty() {
            return;
        }
        if chain.is_empty() {
            *chain = other;
            return;
        }
        let arena = self.layout.get().and_then(|layout| layout.arenas.find(other.last));
        arena.expect("chained frames are in an arena").link(other.last).store(chain.first, Ordering::Relaxed);
        chain.first = other.first;
        chain.bytes += other.bytes;
    }

    /// Frees all blocks of a chain.
    pub fn free_chain(&self, chain: FrameChain) {
        let Some(layout) = self.layout.get() else { return };
        let mut frame = chain.first;
        while frame != END {
            let pa = layout.arenas.pa(frame);
            let (_, arena, _) = self.locate(pa, 0);
            let next = arena.link(frame).load(Ordering::Relaxed);
            match arena.use_of(frame) {
                Use::Doomed(order) => self.release(pa, order, Use::Doomed(order)),
                other => bad_frame("free", pa, 0, other),
            }
            frame = next;
        }
    }
}
