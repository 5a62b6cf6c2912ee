// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From an address to the record of its page of objects, in constant time: a table for each 64 MiB that has such pages.

use alloc::boxed::Box;
use core::sync::atomic::Ordering;

use hadal_hal::threads::link::AtomicRef;
use spin::Once;

use super::slab::Slab;
use crate::buddy::FRAME_BYTES;

/// Pages under one table: 64 MiB.
const PAGES: u64 = 1 << 14;

type Part = Box<[AtomicRef<Slab>]>;

/// The tables.
pub(super) struct Pages {
    parts: Box<[Once<Part>]>,
}

fn part_of(pa: u64) -> usize {
    (pa / (FRAME_BYTES * PAGES)) as usize
}

fn place_of(pa: u64) -> usize {
    (pa / FRAME_BYTES % PAGES) as usize
}

impl Pages {
    /// No page is known; for memory that ends at `end`.
    pub(super) fn new(end: u64) -> Self {
        Self { parts: (0..=part_of(end)).map(|_| Once::new()).collect() }
    }

    /// The record of the page that an address is in, if it is one of objects.
    #[inline(always)]
    pub(super) fn at(&self, pa: u64) -> Option<&'static Slab> {
        self.parts.get(part_of(pa))?.get()?.get(place_of(pa))?.load(Ordering::Acquire)
    }

    /// Sets the record of a page.
    pub(super) fn set(&self, pa: u64, page: Option<&'static Slab>) {
        let Some(part) = self.parts.get(part_of(pa)) else { return };
        let part = part.call_once(|| (0..PAGES).map(|_| AtomicRef::none()).collect());
        part[place_of(pa)].store(page, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::Pages;
    use crate::blocks::slab::slab;

    #[test]
    fn pages_are_told_apart() {
        let pages = Pages::new(1 << 32);
        let far = 0xc000_5000;
        pages.set(0x3000, Some(slab(0)));
        pages.set(far, Some(slab(1)));
        let is = |pa, index| pages.at(pa).is_some_and(|page| core::ptr::eq(page, slab(index)));
        assert!(is(0x3000, 0) && is(0x3fff, 0) && is(far + 77, 1));
        assert!([0x2fff, 0x4000, far - 1, 1 << 40].iter().all(|&pa| pages.at(pa).is_none()));
        pages.set(0x3000, None);
        assert!(pages.at(0x3000).is_none() && is(far, 1));
    }
}
