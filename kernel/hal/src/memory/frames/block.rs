// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The owner of memory that holds bytes.
//!
//! Nobody makes one out of an address but by a claim, and there is one for each claim:
//!
//! ```
//! # use hadal_hal::memory::frames::{self, Block};
//! let pa = frames::host_arena(2 << 20);
//! let block = Block::claim(pa, 0).expect("nobody has it");
//! assert!(Block::claim(pa, 0).is_none());
//! block.write(4092, b"data");
//! let pa = block.release();
//! assert!(Block::claim(pa, 0).is_some());
//! ```
//!
//! ```compile_fail,E0451
//! # use hadal_hal::memory::frames::Block;
//! let forged = Block { name: core::num::NonZeroU64::MIN };
//! ```
//!
//! ```compile_fail,E0382
//! # use hadal_hal::memory::frames::{self, Block};
//! # let block = Block::claim(frames::host_arena(2 << 20), 0).unwrap();
//! block.release();
//! block.write(0, b"too late");
//! ```
//!
//! And there is no other way to write to physical memory:
//!
//! ```compile_fail,E0603
//! hadal_hal::memory::phys::write(0x10_0000, b"anything");
//! ```

use alloc::boxed::Box;
use core::num::NonZeroU64;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::ledger;
use crate::memory::layout::PAGE_SIZE;
use crate::memory::phys;
use crate::memory::user::{self, Fault};

/// A naturally aligned block of `4096 << order` bytes that has this one owner. Its bytes may be changed by others at any
/// time: a device, a program that it is mapped for, another CPU. Dropping it leaks it: who frees blocks takes them by value
/// ([`super::FrameSource::free`]).
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a block that is dropped is never used again"]
pub struct Block {
    /// The address, the order above bit 1, and that bit.
    name: NonZeroU64,
}

const ORDER_AT: u32 = 1;
const ORDER: u64 = 31;
const ADDRESS: u64 = !(PAGE_SIZE as u64 - 1);

impl Block {
    /// Takes memory that nobody owns; `None` if somebody owns a part of it, it is no memory, or `pa` is not aligned to the
    /// size. For allocators, who know what is free.
    #[inline]
    pub fn claim(pa: u64, order: u8) -> Option<Self> {
        if u64::from(order) > ORDER
            || !pa.is_multiple_of((PAGE_SIZE as u64) << order)
            || !ledger::claim(pa, 1 << order)
        {
            return None;
        }
        // SAFETY: claimed above.
        Some(unsafe { Self::owned(pa, order) })
    }

    /// # Safety
    /// The frames are claimed, and the claim is the caller's to give away.
    #[inline]
    pub(crate) unsafe fn owned(pa: u64, order: u8) -> Self {
        if order == 0 {
            ledger::users(pa).store(0, Ordering::Relaxed);
        }
        // SAFETY: as the caller says.
        unsafe { Self::named(Self::name(pa, order)) }
    }

    /// Address and order of a block as a word, never 0.
    #[inline(always)]
    pub(crate) fn name(pa: u64, order: u8) -> u64 {
        pa | u64::from(order) << ORDER_AT | 1
    }

    /// The block as its name, for [`Block::named`]; the claim stays.
    #[inline]
    pub(crate) fn into_name(self) -> u64 {
        self.name.get()
    }

    /// # Safety
    /// As for [`Block::owned`], which made the name or has made a block of it before. The word of a single frame says how often it
    /// is lent.
    #[inline(always)]
    pub(crate) unsafe fn named(name: u64) -> Self {
        // SAFETY: bit 0 is set in all names.
        Self { name: unsafe { NonZeroU64::new_unchecked(name) } }
    }

    /// Gives the memory up: it is nobody's. Returns its address.
    ///
    /// # Panics
    /// If it is lent.
    #[inline]
    pub fn release(self) -> u64 {
        self.word_when_not_lent();
        ledger::release(self.phys(), 1 << self.order());
        self.phys()
    }

    /// The ledger's word for the block, which is free for other uses.
    ///
    /// # Panics
    /// If the block is lent.
    #[inline]
    pub(super) fn word_when_not_lent(&self) -> &'static AtomicU64 {
        let word = ledger::users(self.phys());
        let lent = self.order() == 0 && word.load(Ordering::Acquire) != 0;
        assert!(!lent, "the frame at {:#x} is freed while it is lent", self.phys());
        word
    }

    /// Keeps the memory claimed without an owner that knows: for what [`Block::owned`] will make a block of again.
    #[inline]
    pub(crate) fn into_phys(self) -> u64 {
        self.phys()
    }

    /// The frames of the block, each with an owner of its own.
    pub fn split(self) -> impl Iterator<Item = Self> {
        let (pa, count) = (self.phys(), 1 << self.order());
        // SAFETY: each is a part of what was claimed for the block, and there is one owner for each.
        (0..count).map(move |part| unsafe { Self::owned(pa + part * PAGE_SIZE as u64, 0) })
    }

    /// Keeps the memory for good.
    pub fn leak(self) -> &'static Self {
        Box::leak(Box::new(self))
    }

    #[inline(always)]
    pub(crate) fn phys_of(name: u64) -> u64 {
        name & ADDRESS
    }

    #[inline(always)]
    pub(crate) fn order_of(name: u64) -> u8 {
        (name >> ORDER_AT & ORDER) as u8
    }

    /// Physical address of the first byte.
    #[inline]
    pub fn phys(&self) -> u64 {
        Self::phys_of(self.name.get())
    }

    /// The block has `4096 << order()` bytes.
    #[inline]
    pub fn order(&self) -> u8 {
        Self::order_of(self.name.get())
    }

    /// Size of the block.
    #[inline]
    pub fn bytes(&self) -> usize {
        PAGE_SIZE << self.order()
    }

    /// Physical address of `len` bytes at an offset.
    #[inline]
    fn at(&self, offset: usize, len: usize) -> u64 {
        let fits = offset.checked_add(len).is_some_and(|end| end <= self.bytes());
        assert!(fits, "bytes {offset:#x}+{len:#x} are not in a block of order {}", self.order());
        self.phys() + offset as u64
    }

    /// Copies bytes of the block into `buffer`.
    ///
    /// # Panics
    /// If the range is not in the block, as in what follows.
    #[inline]
    pub fn read(&self, offset: usize, buffer: &mut [u8]) {
        // SAFETY: the range is in the block, and no Rust reference leads there.
        unsafe { phys::read(self.at(offset, buffer.len()), buffer) };
    }

    /// Copies bytes of the block to program memory at `dst`; on a fault a first part may have been written.
    #[inline]
    pub fn copy_to_program(&self, offset: usize, len: usize, dst: usize) -> Result<(), Fault> {
        // SAFETY: the range is in the block, whose owner is borrowed.
        unsafe { user::copy_from_phys(dst, self.at(offset, len), len) }
    }

    /// Copies `data` into the block.
    #[inline]
    pub fn write(&self, offset: usize, data: &[u8]) {
        // SAFETY: as for `read`.
        unsafe { phys::write(self.at(offset, data.len()), data) };
    }

    /// Fills bytes of the block with zeros.
    #[inline]
    pub fn zero(&self, offset: usize, len: usize) {
        // SAFETY: as for `read`.
        unsafe { phys::zero(self.at(offset, len), len) };
    }

    /// Fills the block with zeros.
    #[inline]
    pub fn clear(&self) {
        self.zero(0, self.bytes());
    }

    /// Makes the block what another one of the same size is.
    pub fn copy_from(&self, other: &Self) {
        assert!(
            self.order() == other.order() && self.phys() != other.phys(),
            "a copy is of another block of the same size"
        );
        // SAFETY: as for `read`; two blocks do not overlap.
        unsafe { phys::copy(self.phys(), other.phys(), self.bytes()) };
    }

    /// Fills bytes of the block with what is in other memory.
    ///
    /// # Safety
    /// `len` bytes at `from` are memory that somebody owns for as long as this takes, and not this block.
    #[inline]
    pub(crate) unsafe fn fill(&self, offset: usize, from: u64, len: usize) {
        // SAFETY: as for `read`; of the source the caller says so, and who reads bytes that others change gets some of both.
        unsafe { phys::copy(self.at(offset, len), from, len) };
    }

    /// The block as words that may be shared.
    pub fn words(&self) -> &[AtomicU32] {
        // SAFETY: the words are in the block as long as it is borrowed.
        unsafe { phys::words(self.phys(), self.bytes() / 4) }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::memory::frames::host_arena;

    #[test]
    fn a_block_is_aligned_to_its_size() {
        let base = host_arena(2 << 20);
        assert!(Block::claim(base + 4096, 1).is_none() && Block::claim(base + 1, 0).is_none());
        let block = Block::claim(base + 8192, 1).expect("free");
        assert!(Block::claim(base + 12288, 0).is_none() && Block::claim(base, 2).is_none());
        assert_eq!((block.phys(), block.order(), block.bytes()), (base + 8192, 1, 8192));
        assert!(Block::claim(base, 255).is_none() && Block::claim(base, 64).is_none());
    }

    #[test]
    fn bytes_are_those_of_the_block() {
        let base = host_arena(2 << 20);
        let (one, other) = (Block::claim(base, 0).unwrap(), Block::claim(base + 4096, 0).unwrap());
        one.write(4090, b"abcdef");
        other.copy_from(&one);
        other.zero(4092, 2);
        let mut bytes = [1; 6];
        other.read(4090, &mut bytes);
        assert_eq!(&bytes, b"ab\0\0ef");
        assert_eq!(one.words()[1023].load(Ordering::Relaxed), u32::from_le_bytes(*b"cdef"));
    }

    #[test]
    fn the_parts_of_a_block_are_frames() {
        let base = host_arena(2 << 20);
        let parts: Vec<Block> = Block::claim(base, 2).unwrap().split().collect();
        assert_eq!(
            parts.iter().map(Block::phys).collect::<Vec<_>>(),
            [0, 1, 2, 3].map(|part| base + part * 4096)
        );
        assert!(parts.iter().all(|part| part.order() == 0));
        for part in parts.into_iter().skip(1) {
            part.release();
        }
        assert!(Block::claim(base, 1).is_none() && Block::claim(base + 8192, 1).is_some());
    }

    #[test]
    #[should_panic(expected = "not in a block")]
    fn writes_end_with_the_block() {
        Block::claim(host_arena(2 << 20), 0).unwrap().write(4090, b"abcdefg");
    }

    #[test]
    #[should_panic(expected = "not in a block")]
    fn offsets_do_not_wrap() {
        Block::claim(host_arena(2 << 20), 0).unwrap().read(usize::MAX, &mut [0; 2]);
    }
}
