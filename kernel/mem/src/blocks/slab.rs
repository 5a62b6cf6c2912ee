// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages that are cut into objects of one class.
//!
//! What is known about a page is kept apart from it, where a program that writes past its object does no harm: which
//! objects the program has, and which are in stock. An object is in one of three places: with the program (`live`), in its
//! zone's stock (`stock`), or in the cache of a CPU (neither). Records of pages are never freed, so whoever reads one through
//! a stale page finds bits that say no.

use alloc::boxed::Box;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use hadal_hal::memory::fallible::made;
use hadal_hal::sync::{Rank, SpinLock};
use spin::Once;

use super::class::{OBJECTS, per_page};
use crate::buddy::FRAME_BYTES;

const NIL: u32 = u32::MAX;
/// Enough for an exact quotient wherever there is no remainder, and no more than fits.
const RECIPROCAL_BITS: u32 = 20;
/// Words of bits for the most objects in a page.
const WORDS: usize = 4;

/// One page. Links, stock and its count belong to the lock of the [`Stock`] of its zone and class. Aligned so that CPUs with
/// neighbouring pages do not share a cache line.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Slab {
    index: AtomicU32,
    class: AtomicU32,
    zone: AtomicU32,
    size: AtomicU32,
    /// 2^20 divided by the size, rounded up: multiplying by it divides an offset in the page.
    reciprocal: AtomicU32,
    live: [AtomicU64; WORDS],
    pa: AtomicU64,
    stock: [AtomicU64; WORDS],
    stocked: AtomicU32,
    next: AtomicU32,
    previous: AtomicU32,
}

/// An object: its page's record, and its address with its place in the page.
#[derive(Clone, Copy)]
pub(super) struct Object {
    pub(super) slab: &'static Slab,
    /// The place in the lowest eight bits, the address above.
    pub(super) word: u64,
}

impl Object {
    #[inline(always)]
    fn new(slab: &'static Slab, pa: u64, place: u32) -> Self {
        Self { slab, word: pa << 8 | u64::from(place) }
    }

    #[inline(always)]
    fn place(self) -> usize {
        (self.word & 0xff) as usize
    }

    /// Where the object is.
    #[inline(always)]
    pub(super) fn pa(self) -> u64 {
        self.word >> 8
    }

    /// The object now belongs to the program.
    #[inline(always)]
    pub(super) fn hand_out(self) {
        self.slab.live[self.place() / 64].fetch_or(1 << (self.place() % 64), Ordering::Relaxed);
    }

    /// Whether it belongs to the program.
    pub(super) fn is_live(self) -> bool {
        self.slab.live[self.place() / 64].load(Ordering::Relaxed) & 1 << (self.place() % 64) != 0
    }

    /// The program gives it back; `false` if it does not have it: only one of several racing callers succeeds.
    #[inline(always)]
    pub(super) fn take_back(self) -> bool {
        let bit = 1 << (self.place() % 64);
        self.slab.live[self.place() / 64].fetch_and(!bit, Ordering::AcqRel) & bit != 0
    }
}

const CHUNK: usize = 1024;
const CHUNKS: usize = 8192;
static TABLE: [Once<Box<[Slab]>>; CHUNKS] = [const { Once::new() }; CHUNKS];

/// Records without a page.
struct Unused {
    /// The first of those that had one, linked by `next`.
    head: u32,
    /// The number of those that were ever made.
    made: u32,
}

static UNUSED: SpinLock<Unused> = SpinLock::ranked(Rank::Leaf, Unused { head: NIL, made: 0 });

/// The record with an index that [`unused_record`] has given out.
pub(super) fn slab(index: u32) -> &'static Slab {
    let chunk = TABLE[index as usize / CHUNK].get().expect("an index is given out behind its record");
    &chunk[index as usize % CHUNK]
}

/// `None` when there are too many pages, or no memory for records.
fn unused_record() -> Option<u32> {
    let mut unused = UNUSED.lock();
    if unused.head != NIL {
        let index = unused.head;
        unused.head = slab(index).next.load(Ordering::Relaxed);
        return Some(index);
    }
    let index = unused.made;
    TABLE.get(index as usize / CHUNK)?.try_call_once(|| made(Slab::default, CHUNK)).ok()?;
    unused.made += 1;
    Some(index)
}

impl Slab {
    #[inline(always)]
    pub(super) fn class(&self) -> u8 {
        self.class.load(Ordering::Relaxed) as u8
    }

    #[inline(always)]
    pub(super) fn zone(&self) -> usize {
        self.zone.load(Ordering::Relaxed) as usize
    }

    /// The object that begins at an address in the page; perhaps one behind the last, which is never live.
    #[inline(always)]
    pub(super) fn at(&'static self, pa: u64) -> Option<Object> {
        let offset = pa as u32 % FRAME_BYTES as u32;
        let place = (offset * self.reciprocal.load(Ordering::Relaxed)) >> RECIPROCAL_BITS;
        // A record that has been given to another page meanwhile knows nothing about this one.
        let is_here = self.pa.load(Ordering::Relaxed) == pa - u64::from(offset);
        (is_here && place * self.size.load(Ordering::Relaxed) == offset).then(|| Object::new(self, pa, place))
    }
}

/// The objects of one zone and class that no CPU keeps: a list of the pages that have some.
pub(super) struct Stock {
    head: u32,
    pages: u32,
}

/// What a page that has become empty leaves to its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EmptyPage {
    pub(super) pa: u64,
    index: u32,
}

impl Stock {
    pub(super) const fn new() -> Self {
        Self { head: NIL, pages: 0 }
    }

    /// Takes one object.
    pub(super) fn take(&mut self) -> Option<Object> {
        if self.head == NIL {
            return None;
        }
        let page = slab(self.head);
        let bits = page.stock.iter().map(|word| word.load(Ordering::Relaxed)).enumerate();
        let (word, bits) = bits.into_iter().find(|&(_, bits)| bits != 0)?;
        let place = word as u32 * 64 + bits.trailing_zeros();
        page.stock[word].store(bits & (bits - 1), Ordering::Relaxed);
        let pa = page.pa.load(Ordering::Relaxed) + u64::from(place * page.size.load(Ordering::Relaxed));
        let object = Object::new(page, pa, place);
        let left = page.stocked.load(Ordering::Relaxed) - 1;
        page.stocked.store(left, Ordering::Relaxed);
        if left == 0 {
            self.unlink(self.head);
        }
        Some(object)
    }

    /// Adds an object. A page that is whole again is given away, unless it is the only one.
    pub(super) fn give(&mut self, object: Object) -> Option<EmptyPage> {
        let page = object.slab;
        let index = page.index.load(Ordering::Relaxed);
        page.stock[object.place() / 64].fetch_or(1 << (object.place() % 64), Ordering::Relaxed);
        let stocked = page.stocked.load(Ordering::Relaxed) + 1;
        page.stocked.store(stocked, Ordering::Relaxed);
        if stocked == 1 {
            self.link(index);
        }
        if stocked < per_page(page.class()) || self.pages == 1 {
            return None;
        }
        self.unlink(index);
        page.stock.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        page.stocked.store(0, Ordering::Relaxed);
        Some(EmptyPage { pa: page.pa.load(Ordering::Relaxed), index })
    }

    /// Cuts a new page; returns its record's index, or `None` when there are too many pages or no memory for its record.
    pub(super) fn add_page(&mut self, pa: u64, zone: usize, class: u8) -> Option<u32> {
        let index = unused_record()?;
        let page = slab(index);
        let size = OBJECTS[usize::from(class)];
        page.index.store(index, Ordering::Relaxed);
        page.pa.store(pa, Ordering::Relaxed);
        page.class.store(class.into(), Ordering::Relaxed);
        page.size.store(size, Ordering::Relaxed);
        page.reciprocal.store((1_u32 << RECIPROCAL_BITS).div_ceil(size), Ordering::Relaxed);
        page.zone.store(zone as u32, Ordering::Relaxed);
        let count = per_page(class);
        for (word, bits) in page.stock.iter().enumerate() {
            let here = count.saturating_sub(word as u32 * 64).min(64);
            bits.store(u64::MAX.checked_shr(64 - here).unwrap_or(0), Ordering::Relaxed);
        }
        page.stocked.store(count, Ordering::Relaxed);
        self.link(index);
        Some(index)
    }

    fn link(&mut self, index: u32) {
        let page = slab(index);
        page.next.store(self.head, Ordering::Relaxed);
        page.previous.store(NIL, Ordering::Relaxed);
        if self.head != NIL {
            slab(self.head).previous.store(index, Ordering::Relaxed);
        }
        self.head = index;
        self.pages += 1;
    }

    fn unlink(&mut self, index: u32) {
        let page = slab(index);
        let (next, previous) = (page.next.load(Ordering::Relaxed), page.previous.load(Ordering::Relaxed));
        match previous {
            NIL => self.head = next,
            previous => slab(previous).next.store(next, Ordering::Relaxed),
        }
        if next != NIL {
            slab(next).previous.store(previous, Ordering::Relaxed);
        }
        self.pages -= 1;
    }
}

impl EmptyPage {
    /// The page's memory is somebody else's; its record may be used again.
    pub(super) fn forget(self) {
        let mut unused = UNUSED.lock();
        slab(self.index).next.store(unused.head, Ordering::Relaxed);
        unused.head = self.index;
    }
}

const _: () = assert!(FRAME_BYTES / OBJECTS[0] as u64 <= 64 * WORDS as u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_gives_each_object_once_and_comes_back_whole() {
        for class in 0..OBJECTS.len() as u8 {
            let mut stock = Stock::new();
            assert!(stock.take().is_none());
            let keep = stock.add_page(0x10_0000, 1, class).unwrap();
            let index = stock.add_page(0x20_0000, 1, class).unwrap();
            let count = 2 * per_page(class) as usize;
            let objects: Vec<Object> = core::iter::from_fn(|| stock.take()).collect();
            let mut places: Vec<u64> = objects.iter().map(|object| object.pa()).collect();
            places.sort_unstable();
            places.dedup();
            assert_eq!((objects.len(), places.len()), (count, count));
            let empty: Vec<EmptyPage> = objects.iter().filter_map(|&object| stock.give(object)).collect();
            assert_eq!(empty.len(), 1, "one page stays");
            assert!(empty[0].index == index || empty[0].index == keep);
            empty[0].forget();
        }
    }

    #[test]
    fn only_live_objects_are_found_and_taken_back_once() {
        let mut stock = Stock::new();
        let page = slab(stock.add_page(0x30_0000, 0, 2).unwrap());
        let object = stock.take().unwrap();
        let found = |offset| page.at(0x30_0000 + offset).filter(|object| object.is_live());
        let offset = object.pa() - 0x30_0000;
        assert!(found(offset).is_none());
        object.hand_out();
        assert_eq!(found(offset).map(Object::pa), Some(object.pa()));
        assert!(found(offset + 16).is_none() && found(4095).is_none());
        assert!(object.take_back() && !object.take_back());
    }

    #[test]
    fn every_place_is_found_and_nothing_between() {
        for class in 0..OBJECTS.len() as u8 {
            let mut stock = Stock::new();
            let page = slab(stock.add_page(0x40_0000, 0, class).unwrap());
            let size = u64::from(OBJECTS[usize::from(class)]);
            for offset in 0..FRAME_BYTES {
                let found = page.at(0x40_0000 + offset).map(Object::place);
                let wanted = offset.is_multiple_of(size).then_some((offset / size) as usize);
                assert_eq!(found, wanted, "{offset} of {size}");
            }
        }
    }
}
