// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Blocks on their way to being freed.
//!
//! Frames that were unmapped must not be used again while a CPU may still have a translation to them, and giving back a
//! gigabyte must not need memory. So they are linked through the ledger: a chain is a few words, however long.

use core::sync::atomic::{AtomicU64, Ordering};

use super::Block;
use super::ledger;

/// In the place of a block's name.
const END: u64 = 0;

/// Blocks that are freed together; dropping a chain leaks them.
#[derive(Debug)]
#[must_use = "dropping a chain leaks its blocks"]
pub struct Chain {
    first: u64,
    last: u64,
    bytes: u64,
}

impl Default for Chain {
    fn default() -> Self {
        Self::new()
    }
}

/// The word of a block that a chain owns.
fn link(block: u64) -> &'static AtomicU64 {
    ledger::users(block)
}

impl Chain {
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

    /// Adds a block.
    ///
    /// # Panics
    /// If it is lent.
    pub fn push(&mut self, block: Block) {
        self.bytes += block.bytes() as u64;
        let word = block.word_when_not_lent();
        let name = block.into_name();
        word.store(self.first, Ordering::Relaxed);
        if self.first == END {
            self.last = name;
        }
        self.first = name;
    }

    /// Takes a block out.
    pub fn pop(&mut self) -> Option<Block> {
        let name = self.first;
        if name == END {
            return None;
        }
        self.first = link(name).load(Ordering::Relaxed);
        let (pa, order) = (Block::phys_of(name), Block::order_of(name));
        // SAFETY: `push` has put the owner of the block in, under this name, and it is in the chain no more.
        let block = unsafe { Block::owned(pa, order) };
        self.bytes -= block.bytes() as u64;
        Some(block)
    }

    /// Moves all blocks of another chain here.
    pub fn join(&mut self, other: Self) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            *self = other;
            return;
        }
        link(other.last).store(self.first, Ordering::Relaxed);
        self.first = other.first;
        self.bytes += other.bytes;
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::memory::frames::host_arena;

    #[test]
    fn a_chain_gives_back_what_was_put_in() {
        let base = host_arena(4 << 20);
        let (mut chain, mut other) = (Chain::new(), Chain::new());
        let block = |page: u64, order| Block::claim(base + page * 4096, order).expect("free");
        for (page, order) in [(0, 0), (8, 3), (512, 9)] {
            chain.push(block(page, order));
        }
        other.push(block(1, 0));
        other.push(block(2, 1));
        chain.join(Chain::new());
        chain.join(other);
        assert_eq!(chain.bytes(), 4096 * (1 + 8 + 512 + 1 + 2));
        let mut found: Vec<_> = core::iter::from_fn(|| chain.pop())
            .map(|block| (block.order(), (block.release() - base) / 4096))
            .collect();
        found.sort_unstable();
        assert_eq!(found, [(0, 0), (0, 1), (1, 2), (3, 8), (9, 512)]);
        assert!(chain.is_empty() && chain.pop().is_none());
    }

    #[test]
    #[should_panic(expected = "while it is lent")]
    fn lent_frames_do_not_go() {
        let block = Block::claim(host_arena(2 << 20), 0).unwrap();
        let _share = block.lend();
        Chain::new().push(block);
    }
}
