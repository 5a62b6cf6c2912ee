// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The memory of a page, before it is mapped and after it was.
//!
//! A table owns what it maps. What it gives back some CPU may still reach, so it is not the block again but a page that was
//! unmapped: that can be mapped elsewhere in the same table, or wait for a flush of it ([`super::Stale`]).
//!
//! ```compile_fail,E0599
//! # use hadal_hal::memory::frames::FrameSource;
//! # use hadal_hal::memory::paging::{Page, Unmapped};
//! fn too_early(source: &dyn FrameSource, page: Page<Unmapped>) {
//!     source.free(page.into_block());
//! }
//! ```
//!
//! ```compile_fail,E0308
//! # use hadal_hal::memory::paging::{OwnedPageTable, PageFlags};
//! # fn not_any_address(table: &OwnedPageTable) {
//! let _ = table.map(0x1000, 0x10_0000, PageFlags::READ);
//! # }
//! ```

use core::marker::PhantomData;

use super::{ADDRESS, LENT, PageSize, TableNumber};
use crate::memory::frames::{Block, Chain, Lent};

/// Of a page that no table has had.
#[derive(Debug, PartialEq, Eq)]
pub enum Fresh {}

/// Of a page that was taken out of a table.
#[derive(Debug, PartialEq, Eq)]
pub enum Unmapped {}

#[derive(Debug, PartialEq, Eq)]
enum Memory {
    Own(OwnBlock),
    Lent(Lent),
}

/// The name of a block, and the number of the table that it was taken out of, or 0 if none has had it. In one word, so that a page
/// is passed in registers.
#[derive(Debug, PartialEq, Eq)]
struct OwnBlock(u64);

/// Bits of a name; the number of the table is above. (Physical addresses of simulated memory have 47.)
const NAME_BITS: u32 = 48;
/// Page tables that there may be.
pub(super) const MOST_TABLES: TableNumber = TableNumber::MAX >> (NAME_BITS - 32);

impl OwnBlock {
    /// # Safety
    /// As for [`Block::named`].
    #[inline(always)]
    unsafe fn named(name: u64, table: TableNumber) -> Self {
        Self(name | u64::from(table) << NAME_BITS)
    }

    #[inline(always)]
    fn name(&self) -> u64 {
        self.0 << (u64::BITS - NAME_BITS) >> (u64::BITS - NAME_BITS)
    }

    #[inline(always)]
    fn table(&self) -> TableNumber {
        (self.0 >> NAME_BITS) as TableNumber
    }

    #[inline(always)]
    fn order(&self) -> u8 {
        Block::order_of(self.name())
    }

    #[inline(always)]
    fn phys(&self) -> u64 {
        Block::phys_of(self.name())
    }

    #[inline(always)]
    fn into_block(self) -> Block {
        // SAFETY: as `named` was told.
        unsafe { Block::named(self.name()) }
    }
}

impl From<Block> for OwnBlock {
    fn from(block: Block) -> Self {
        // SAFETY: the block is given away here.
        unsafe { Self::named(block.into_name(), 0) }
    }
}

/// The memory of a page: a block, which the table owns while it is mapped, or a frame that is lent to it.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a page that is dropped is never freed"]
pub struct Page<S = Fresh> {
    memory: Memory,
    state: PhantomData<S>,
}

impl From<Block> for Page {
    /// # Panics
    /// If a block of that order is no page.
    fn from(block: Block) -> Self {
        assert!(PageSize::of_order(block.order()).is_some(), "a block of order {} is no page", block.order());
        Self { memory: Memory::Own(OwnBlock::from(block)), state: PhantomData }
    }
}

impl From<Lent> for Page {
    fn from(share: Lent) -> Self {
        Self { memory: Memory::Lent(share), state: PhantomData }
    }
}

impl Page {
    /// The block again, if it is one; a share ends.
    pub fn into_block(self) -> Option<Block> {
        match self.memory {
            Memory::Own(own) => Some(own.into_block()),
            Memory::Lent(_) => None,
        }
    }
}

impl Page<Unmapped> {
    /// The frames of a large page.
    ///
    /// # Panics
    /// If it is a frame that is lent.
    pub fn split(self) -> impl Iterator<Item = Self> {
        let Memory::Own(own) = self.memory else { panic!("frames are lent one by one") };
        let table = own.table();
        own.into_block().split().map(move |frame| {
            // SAFETY: the frame is given away here.
            let own = unsafe { OwnBlock::named(frame.into_name(), table) };
            Self { memory: Memory::Own(own), state: PhantomData }
        })
    }

    /// Adds the block, if it is one, to a chain; the table in which some CPU may still find it.
    pub(super) fn add_to(self, chain: &mut Chain) -> Option<TableNumber> {
        let Memory::Own(own) = self.memory else { return None };
        let table = own.table();
        chain.push(own.into_block());
        Some(table)
    }
}

impl<S> Page<S> {
    /// Physical address of the first byte.
    pub fn phys(&self) -> u64 {
        match &self.memory {
            Memory::Own(own) => own.phys(),
            Memory::Lent(share) => share.phys(),
        }
    }

    /// Its size.
    pub fn size(&self) -> PageSize {
        match &self.memory {
            Memory::Own(own) => PageSize::of_order(own.order()).unwrap_or(PageSize::Size4K),
            Memory::Lent(_) => PageSize::Size4K,
        }
    }

    /// The page as one that some CPU may reach.
    pub fn as_unmapped(self) -> Page<Unmapped> {
        Page { memory: self.memory, state: PhantomData }
    }

    /// The table that it was taken out of, or 0.
    pub(super) fn table(&self) -> TableNumber {
        match &self.memory {
            Memory::Own(own) => own.table(),
            Memory::Lent(_) => 0,
        }
    }

    /// Gives the memory to an entry, as the bits that say what it is.
    pub(super) fn into_bits(self) -> u64 {
        match self.memory {
            Memory::Own(own) => own.phys(),
            Memory::Lent(share) => share.into_phys() | LENT,
        }
    }

    /// Takes the memory from an entry of a table.
    ///
    /// # Safety
    /// The entry was made of [`Page::into_bits`], by a split perhaps, and is in no table any more.
    pub(super) unsafe fn from_entry(entry: u64, size: PageSize, table: TableNumber) -> Self {
        let pa = entry & ADDRESS;
        // SAFETY: as the caller says.
        let memory = unsafe {
            match entry & LENT {
                0 => Memory::Own(OwnBlock::named(Block::name(pa, size.order()), table)),
                _ => Memory::Lent(Lent::shared(pa)),
            }
        };
        Self { memory, state: PhantomData }
    }
}
