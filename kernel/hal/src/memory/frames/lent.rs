// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A frame that several share: what its owner has lent.

use core::sync::atomic::Ordering;

use super::Block;
use super::ledger;

/// A share in a frame of 4 KiB: as long as there is one, the owner cannot give the frame up. The pages of a file are lent to
/// each mapping that shows them.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a share that is dropped ends"]
pub struct Lent {
    pa: u64,
}

impl Block {
    /// Lends the frame.
    ///
    /// # Panics
    /// If the block is larger than a frame.
    #[inline]
    pub fn lend(&self) -> Lent {
        assert!(self.order() == 0, "frames are lent one by one");
        let before = ledger::users(self.phys()).fetch_add(1, Ordering::Relaxed);
        assert!(before < u64::MAX / 2, "a frame is lent too often");
        Lent { pa: self.phys() }
    }
}

impl Lent {
    /// # Safety
    /// The share was given to [`Lent::into_phys`], and is the caller's to give away.
    #[inline]
    pub(crate) unsafe fn shared(pa: u64) -> Self {
        Self { pa }
    }

    /// Keeps the share for what [`Lent::shared`] will make one of again.
    #[inline]
    pub(crate) fn into_phys(self) -> u64 {
        let pa = self.pa;
        core::mem::forget(self);
        pa
    }

    /// Physical address of the first byte.
    #[inline]
    pub fn phys(&self) -> u64 {
        self.pa
    }
}

impl Drop for Lent {
    #[inline]
    fn drop(&mut self) {
        // Release: what was done with the share comes before the owner gives the frame up.
        ledger::users(self.pa).fetch_sub(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::frames::host_arena;

    #[test]
    fn a_share_can_end_and_then_the_frame_can_be_given_up() {
        let block = Block::claim(host_arena(2 << 20), 0).unwrap();
        let (one, other) = (block.lend(), block.lend());
        drop(one);
        assert_eq!(other.phys(), block.phys());
        drop(other);
        block.release();
    }

    #[test]
    #[should_panic(expected = "while it is lent")]
    fn a_lent_frame_is_not_given_up() {
        let block = Block::claim(host_arena(2 << 20), 0).unwrap();
        let _share = block.lend();
        block.release();
    }

    #[test]
    #[should_panic(expected = "one by one")]
    fn only_frames_are_lent() {
        drop(Block::claim(host_arena(2 << 20), 1).unwrap().lend());
    }
}
