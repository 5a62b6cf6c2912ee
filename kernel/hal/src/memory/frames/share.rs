// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Blocks that several page tables have, as equals: what `fork` makes of a program's memory, until somebody writes.
//!
//! The ledger's word of the block's first frame counts the shares. A share that ends says which flush is the first to begin
//! behind it: who is the only one left may write to the block without a copy once every CPU has done that flush, and none can
//! find the block at an address where it was.
//!
//! A large block is one thing to share, until one of those who have it needs a part. Then its frames get counts of their own,
//! as many as there are shares of the whole ([`Share::split`]); everybody else finds that when his share is split, or ends.

use core::sync::atomic::{AtomicU64, Ordering};

use super::{Block, ledger};
use crate::cpu;
use crate::memory::layout::PAGE_SIZE;
use crate::memory::tlb;

/// A share in a block. Dropping one keeps the block for ever.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a share that is dropped keeps its block for ever"]
pub(crate) struct Share {
    /// As a block has it.
    name: u64,
}

/// How the ledger's word is divided: the number of shares, states, and the flush behind the last end of one.
const COUNT: u64 = (1 << 24) - 1;
/// Somebody is splitting the block.
const LOCKED: u64 = 1 << 24;
/// Each frame has a count of its own; that of the first frame is in this word.
const SPLIT: u64 = 1 << 25;
const FLUSH_AT: u32 = 26;

fn word_of(count: u64, state: u64, flush: u64) -> u64 {
    count | state | flush << FLUSH_AT
}

/// The word with a share less, whose end is over with a flush. Others may have read an older number and changed the word since.
fn word_after_end(before: u64, flush: u64) -> u64 {
    word_of((before & COUNT) - 1, before & SPLIT, flush.max(before >> FLUSH_AT))
}

/// Changes a word that nobody has locked, and returns what it was; `None` if `change` does not want to.
fn update(word: &AtomicU64, change: impl Fn(u64) -> Option<u64>) -> Option<u64> {
    let mut before = word.load(Ordering::Acquire);
    loop {
        if before & LOCKED != 0 {
            cpu::relax();
            before = word.load(Ordering::Acquire);
            continue;
        }
        match word.compare_exchange(before, change(before)?, Ordering::AcqRel, Ordering::Acquire) {
            Ok(before) => return Some(before),
            Err(now) => before = now,
        }
    }
}

impl Share {
    /// Makes a block one that is shared: this is its only share.
    pub(crate) fn first(block: Block) -> Self {
        let name = block.into_name();
        ledger::users(Block::phys_of(name)).store(word_of(1, 0, 0), Ordering::Release);
        Self { name }
    }

    /// # Safety
    /// The name was given by [`Share::into_name`], or made of a part's address after [`Share::split`]; and the share is the
    /// caller's to give away.
    pub(crate) unsafe fn named(name: u64) -> Self {
        Self { name }
    }

    /// The share as a word, in the form of a block's name.
    pub(crate) fn into_name(self) -> u64 {
        self.name
    }

    fn phys(&self) -> u64 {
        Block::phys_of(self.name)
    }

    fn order(&self) -> u8 {
        Block::order_of(self.name)
    }

    fn word(&self) -> &'static AtomicU64 {
        ledger::users(self.phys())
    }

    /// The words of the frames behind the first.
    fn others(&self) -> impl Iterator<Item = &'static AtomicU64> + use<> {
        let pa = self.phys();
        (1..1_u64 << self.order()).map(move |part| ledger::users(pa + part * PAGE_SIZE as u64))
    }

    /// Another share; `None` if there are too many.
    #[inline]
    pub(crate) fn again(&self) -> Option<Self> {
        let more = |before: u64| (before & COUNT < COUNT).then_some(before + 1);
        let before = update(self.word(), more)?;
        if self.order() > 0 && before & SPLIT != 0 {
            self.count_in_others();
        }
        Some(Self { name: self.name })
    }

    #[inline(never)]
    fn count_in_others(&self) {
        // No frame has more shares than there are page tables, which is far from the largest count.
        self.others().for_each(|word| {
            let _ = update(word, |before| Some(before + 1));
        });
    }

    /// Gives each frame of a large block a count of its own, unless somebody has, and tells `first` then the block's address and
    /// order. The share becomes one in each of the frames.
    pub(crate) fn split(self, first: impl FnOnce(u64, u8)) {
        let word = self.word();
        let unsplit = |before: u64| (before & SPLIT == 0).then_some(before | LOCKED);
        let Some(before) = update(word, unsplit) else { return };
        let (count, flush) = (before & COUNT, before >> FLUSH_AT);
        self.others().for_each(|word| word.store(word_of(count, 0, flush), Ordering::Relaxed));
        first(self.phys(), self.order());
        word.store(word_of(count, SPLIT, flush), Ordering::Release);
    }

    /// Ends the share. What nobody has any more is handed to `free`: nobody may use it before every CPU has flushed.
    #[inline]
    pub(crate) fn end(self, free: &mut impl FnMut(Block)) {
        if self.order() == 0 {
            self.end_frame(free);
        } else {
            self.end_large(free);
        }
    }

    #[inline]
    fn end_frame(self, free: &mut impl FnMut(Block)) {
        let flush = tlb::newest() + 1;
        let word = self.word();
        if let Some(before) = update(word, |before| Some(word_after_end(before, flush)))
            && before & COUNT == 1
        {
            word.store(0, Ordering::Relaxed);
            // SAFETY: it was the last share, so the claim of the frame is this one's, which nobody has lent.
            free(unsafe { Block::named(self.name) });
        }
    }

    #[inline(never)]
    fn end_large(self, free: &mut impl FnMut(Block)) {
        let flush = tlb::newest() + 1;
        let end_whole = |before: u64| (before & SPLIT == 0).then(|| word_after_end(before, flush));
        match update(self.word(), end_whole) {
            Some(before) if before & COUNT == 1 => {
                // SAFETY: it was the last share, so the claim of the block is this one's.
                free(unsafe { Block::named(self.name) });
            }
            Some(_) => {}
            None => {
                for part in 0..1_u64 << self.order() {
                    let name = Block::name(self.phys() + part * PAGE_SIZE as u64, 0);
                    Self { name }.end_frame(free);
                }
            }
        }
    }

    /// Whether nobody else has a share, nor does any CPU find the block where it was shared. Then nobody else gets one either,
    /// since shares come from shares; a large block that was split does not count as a whole.
    pub(crate) fn is_only(&self) -> bool {
        let word = self.word().load(Ordering::Acquire);
        let is_one = word & (COUNT | LOCKED) == 1 && (self.order() == 0 || word & SPLIT == 0);
        is_one && tlb::is_over_elsewhere(word >> FLUSH_AT)
    }

    /// The block of the only share.
    pub(crate) fn into_block(self) -> Block {
        debug_assert!(self.is_only());
        // SAFETY: nobody else has a share, as the caller has seen by `is_only`.
        unsafe { Block::owned(self.phys(), self.order()) }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use alloc::vec::Vec;

    use super::*;
    use crate::memory::frames::host_arena;

    fn share(order: u8) -> Share {
        Share::first(Block::claim(host_arena(2 << 20), order).expect("free"))
    }

    fn end(share: Share) -> Vec<u8> {
        let mut freed = Vec::new();
        share.end(&mut |block| {
            freed.push(block.order());
            block.release();
        });
        freed
    }

    #[test]
    fn the_last_share_frees_the_block() {
        for order in [0, 9] {
            let one = share(order);
            let (other, third) = (one.again().expect("few"), one.again().expect("few"));
            assert!(!one.is_only());
            assert_eq!((end(third), end(one)), (Vec::new(), Vec::new()));
            assert!(other.is_only());
            assert_eq!(end(other), [order]);
        }
    }

    #[test]
    fn the_latest_flush_counts_whoever_writes_last() {
        let after_both = |first, second| word_after_end(word_after_end(word_of(3, 0, 0), first), second);
        assert_eq!(after_both(5, 6), word_of(1, 0, 6));
        assert_eq!(after_both(6, 5), word_of(1, 0, 6));
    }

    #[test]
    fn frames_of_a_block_that_was_split_are_freed_one_by_one() {
        let one = share(9);
        let pa = one.phys();
        let other = one.again().expect("few");
        one.split(|_, _| {});
        assert!(!other.is_only(), "not as a whole");
        let part = |number: u64| Share { name: Block::name(pa + number * PAGE_SIZE as u64, 0) };
        // All parts of one share but two end, then the whole of the other.
        for number in 2..512 {
            assert_eq!(end(part(number)), []);
        }
        let third = other.again().expect("few");
        assert_eq!(end(other), []);
        assert_eq!(end(third).len(), 510);
        assert!(part(0).is_only() && part(1).is_only());
        assert_eq!((end(part(0)), end(part(1))), ([0].into(), [0].into()));
    }

    #[test]
    fn splits_and_ends_at_the_same_time_lose_nothing() {
        for _ in 0..300 {
            let first = share(4);
            let pa = first.phys();
            let shares: Vec<Share> = (0..3).map(|_| first.again().expect("few")).collect();
            let freed = AtomicU64::new(0);
            std::thread::scope(|scope| {
                for (number, share) in shares.into_iter().chain([first]).enumerate() {
                    let freed = &freed;
                    scope.spawn(move || {
                        let mut free = |block: Block| {
                            freed.fetch_add(block.bytes() as u64 / PAGE_SIZE as u64, Ordering::Relaxed);
                            block.release();
                        };
                        if number % 2 == 0 {
                            return share.end(&mut free);
                        }
                        share.split(|_, _| {});
                        for part in 0..16 {
                            Share { name: Block::name(pa + part * PAGE_SIZE as u64, 0) }.end(&mut free);
                        }
                    });
                }
            });
            assert_eq!(freed.into_inner(), 16);
            assert!(Block::claim(pa, 4).is_some());
        }
    }
}
