// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From an address to the record of its page of objects, in constant time: a table for each 16 MiB that has such pages.

use alloc::boxed::Box;
use core::sync::atomic::Ordering;

use hadal_hal::memory::fallible::made;
use hadal_hal::threads::link::AtomicRef;
use spin::Once;

use super::slab::Slab;
use crate::buddy::FRAME_BYTES;

/// Pages under one table: 16 MiB. A table is made with interrupts off, so it is not large.
const PAGES: u64 = 1 << 12;

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

    /// Where the record of a page is noted; `None` if there is no memory for the table of its part.
    pub(super) fn place(&self, pa: u64) -> Option<&AtomicRef<Slab>> {
        self.parts
            .get(part_of(pa))?
            .try_call_once(|| made(AtomicRef::none, PAGES as usize))
            .ok()?
            .get(place_of(pa))
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::Ordering;

    use super::Pages;
    use crate::blocks::slab::{Stock, slab};

    #[test]
    fn pages_are_told_apart() {
        let pages = Pages::new(1 << 32);
        let (near, far) = (0x3000, 0xc000_5000);
        let mut stock = Stock::new();
        let mut record = |pa| slab(stock.add_page(pa, 0, 0).unwrap());
        let (first, second) = (record(near), record(far));
        let note = |pa, record| pages.place(pa).unwrap().store(record, Ordering::Release);
        note(near, Some(first));
        note(far, Some(second));
        let is = |pa, record| pages.at(pa).is_some_and(|page| core::ptr::eq(page, record));
        assert!(is(near, first) && is(0x3fff, first) && is(far + 77, second));
        assert!([0x2fff, 0x4000, far - 1, 1 << 40].iter().all(|&pa| pages.at(pa).is_none()));
        assert!(pages.place(1 << 40).is_none());
        note(near, None);
        assert!(pages.at(near).is_none() && is(far, second));
    }
}
