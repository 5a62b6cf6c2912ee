// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The memory of a page, before it is mapped and after it was.
//!
//! A table owns what it maps. What it gives back some CPU may still reach, so it is not the block again but a page that was
//! unmapped: that can be mapped elsewhere, or wait for a flush ([`super::Stale`]).
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
//! # use hadal_hal::memory::paging::{self, PageFlags};
//! // Not any address:
//! let _ = paging::program().map(0x1000, 0x10_0000, PageFlags::READ);
//! ```

use core::marker::PhantomData;

use super::{ADDRESS, LENT, PageSize};
use crate::memory::frames::{Block, Lent};

/// Of a page that no table has had.
#[derive(Debug, PartialEq, Eq)]
pub enum Fresh {}

/// Of a page that was taken out of a table.
#[derive(Debug, PartialEq, Eq)]
pub enum Unmapped {}

#[derive(Debug, PartialEq, Eq)]
enum Memory {
    Own(Block),
    Lent(Lent),
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
        Self { memory: Memory::Own(block), state: PhantomData }
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
            Memory::Own(block) => Some(block),
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
        let Memory::Own(block) = self.memory else { panic!("frames are lent one by one") };
        block.split().map(|frame| Page::from(frame).as_unmapped())
    }

    pub(super) fn into_unmapped_block(self) -> Option<Block> {
        match self.memory {
            Memory::Own(block) => Some(block),
            Memory::Lent(_) => None,
        }
    }
}

impl<S> Page<S> {
    /// Physical address of the first byte.
    pub fn phys(&self) -> u64 {
        match &self.memory {
            Memory::Own(block) => block.phys(),
            Memory::Lent(share) => share.phys(),
        }
    }

    /// Its size.
    pub fn size(&self) -> PageSize {
        match &self.memory {
            Memory::Own(block) => PageSize::of_order(block.order()).unwrap_or(PageSize::Size4K),
            Memory::Lent(_) => PageSize::Size4K,
        }
    }

    /// The page as one that some CPU may reach.
    pub fn as_unmapped(self) -> Page<Unmapped> {
        Page { memory: self.memory, state: PhantomData }
    }

    /// Gives the memory to an entry, as the bits that say what it is.
    pub(super) fn into_bits(self) -> u64 {
        match self.memory {
            Memory::Own(block) => block.into_phys(),
            Memory::Lent(share) => share.into_phys() | LENT,
        }
    }

    /// Takes the memory from an entry.
    ///
    /// # Safety
    /// The entry was made of [`Page::into_bits`], by a split perhaps, and is in no table any more.
    pub(super) unsafe fn from_entry(entry: u64, size: PageSize) -> Self {
        let pa = entry & ADDRESS;
        // SAFETY: as the caller says.
        let memory = unsafe {
            match entry & LENT {
                0 => Memory::Own(Block::owned(pa, size.order())),
                _ => Memory::Lent(Lent::shared(pa)),
            }
        };
        Self { memory, state: PhantomData }
    }
}
