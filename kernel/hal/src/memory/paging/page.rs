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

use super::entry::SHARED;
use super::{ADDRESS, LENT, PageFlags, PageSize, TableNumber};
use crate::memory::frames::{Block, Chain, Lent, Share};
use crate::memory::layout::PAGE_SIZE;
use crate::memory::tlb;

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
    /// A share in a block.
    Shared(OwnBlock),
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

    fn into_share(self) -> Share {
        // SAFETY: the name of a share was kept in `Memory::Shared`.
        unsafe { Share::named(self.name()) }
    }
}

impl From<Block> for OwnBlock {
    fn from(block: Block) -> Self {
        // SAFETY: the block is given away here.
        unsafe { Self::named(block.into_name(), 0) }
    }
}

/// The memory of a page: a block, which the table owns while it is mapped, or has a share in, or a frame that is lent to it.
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
            // Only what was mapped is shared.
            Memory::Lent(_) | Memory::Shared(_) => None,
        }
    }
}

impl Page<Unmapped> {
    /// The frames of a large page. If it was shared as a whole until now, `first` hears of it.
    ///
    /// # Panics
    /// If it is a frame that is lent.
    pub fn split<F: FnOnce(u64, u8)>(self, first: F) -> impl Iterator<Item = Self> + use<F> {
        let (own, is_shared) = match self.memory {
            Memory::Own(own) => (own, false),
            Memory::Shared(own) => (own, true),
            Memory::Lent(_) => panic!("frames are lent one by one"),
        };
        let (table, pa, count) = (own.table(), own.phys(), 1 << own.order());
        if is_shared {
            own.into_share().split(first);
        } else {
            own.into_block().split().for_each(|frame| {
                let _ = frame.into_name();
            });
        }
        (0..count).map(move |part| {
            // SAFETY: the frames are those of the block or the share, which is given away.
            let own = unsafe { OwnBlock::named(Block::name(pa + part * PAGE_SIZE as u64, 0), table) };
            let memory = if is_shared { Memory::Shared(own) } else { Memory::Own(own) };
            Self { memory, state: PhantomData }
        })
    }

    /// Adds the block, if it is one or this is the last share in it, to a chain; the tables in which some CPU may still find it.
    #[inline]
    pub(super) fn add_to(self, chain: &mut Chain) -> Option<TableNumber> {
        let Memory::Own(own) = self.memory else { return self.end_share(chain) };
        let table = own.table();
        chain.push(own.into_block());
        Some(table)
    }

    #[inline(never)]
    fn end_share(self, chain: &mut Chain) -> Option<TableNumber> {
        let Memory::Shared(own) = self.memory else { return None };
        let before = chain.bytes();
        own.into_share().end(&mut |block| chain.push(block));
        (chain.bytes() > before).then_some(tlb::ALL)
    }

    /// Whether it is a frame that is lent.
    pub fn is_lent(&self) -> bool {
        matches!(self.memory, Memory::Lent(_))
    }

    /// Whether it is a share of memory.
    pub fn is_shared(&self) -> bool {
        matches!(self.memory, Memory::Shared(_))
    }

    /// Two pages of the same memory, which both share; or the page as it was, if there are too many of them.
    ///
    /// # Panics
    /// If it is a frame that is lent.
    pub fn share(self) -> Result<(Self, Self), Self> {
        let share = match self.memory {
            Memory::Own(own) => Share::first(own.into_block()),
            Memory::Shared(own) => own.into_share(),
            Memory::Lent(_) => panic!("what is lent has an owner who lends it again"),
        };
        let page = |share: Share| {
            // SAFETY: the share is given away here. Which table had it does not matter.
            let own = unsafe { OwnBlock::named(share.into_name(), 0) };
            Self { memory: Memory::Shared(own), state: PhantomData }
        };
        match share.again() {
            Some(other) => Ok((page(share), page(other))),
            None => Err(page(share)),
        }
    }

    /// The page as the only owner of its memory, if nobody else has a share in it any more.
    pub fn unshare(self) -> Result<Self, Self> {
        let Memory::Shared(own) = self.memory else { return Ok(self) };
        let table = own.table();
        let share = own.into_share();
        let is_only = share.is_only();
        let name = if is_only { share.into_block().into_name() } else { share.into_name() };
        // SAFETY: block or share is given away here.
        let own = unsafe { OwnBlock::named(name, table) };
        if is_only {
            Ok(Self { memory: Memory::Own(own), state: PhantomData })
        } else {
            Err(Self { memory: Memory::Shared(own), state: PhantomData })
        }
    }
}

impl<S> Page<S> {
    /// Physical address of the first byte.
    pub fn phys(&self) -> u64 {
        match &self.memory {
            Memory::Own(own) | Memory::Shared(own) => own.phys(),
            Memory::Lent(share) => share.phys(),
        }
    }

    /// Its size.
    pub fn size(&self) -> PageSize {
        match &self.memory {
            Memory::Own(own) | Memory::Shared(own) => {
                PageSize::of_order(own.order()).unwrap_or(PageSize::Size4K)
            }
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
            Memory::Own(own) | Memory::Shared(own) => own.table(),
            Memory::Lent(_) => 0,
        }
    }

    /// Gives the memory to an entry, as the bits that say what it is; what is shared is not written.
    #[inline]
    pub(super) fn into_bits(self, flags: &mut PageFlags) -> u64 {
        match self.memory {
            Memory::Shared(own) => {
                flags.remove(PageFlags::WRITE);
                own.phys() | SHARED
            }
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
            match entry & (LENT | SHARED) {
                0 => Memory::Own(OwnBlock::named(Block::name(pa, size.order()), table)),
                LENT => Memory::Lent(Lent::shared(pa)),
                _ => Memory::Shared(OwnBlock::named(Block::name(pa, size.order()), table)),
            }
        };
        Self { memory, state: PhantomData }
    }
}
