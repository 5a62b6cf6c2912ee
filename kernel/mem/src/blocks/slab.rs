// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages that are cut into objects of one class.
//!
//! What is known about a page is kept apart from it, where a program that writes past its object does no harm: which
//! objects the program has, and which are in stock. An object is in one of three places: with the program (`live`), in its
//! zone's stock (`stock`), or in the cache of a CPU (neither). Records of pages are never freed, so whoever reads one through
//! a stale page finds bits that say no.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use hadal_hal::sync::SpinLock;
use spin::Once;

use super::class::{OBJECTS, per_page};
use crate::buddy::FRAME_BYTES;

const NIL: u32 = u32::MAX;
/// Words of bits for the most objects in a page.
const WORDS: usize = 4;

/// One page. Links, stock and its count belong to the lock of the [`Stock`] of its zone and class.
#[derive(Default)]
pub(super) struct Slab {
    pa: AtomicU64,
    class: AtomicU32,
    zone: AtomicU32,
    live: [AtomicU64; WORDS],
    stock: [AtomicU64; WORDS],
    stocked: AtomicU32,
    next: AtomicU32,
    previous: AtomicU32,
}

/// An object: its page's record in the upper bits, its place in the page in the lowest eight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Object(pub(super) u64);

impl Object {
    fn new(slab: u32, place: u32) -> Self {
        Self(u64::from(slab) << 8 | u64::from(place))
    }

    pub(super) fn slab(self) -> &'static Slab {
        slab((self.0 >> 8) as u32)
    }

    fn place(self) -> usize {
        (self.0 & 0xff) as usize
    }

    /// Where the object is.
    pub(super) fn pa(self) -> u64 {
        let slab = self.slab();
        slab.pa.load(Ordering::Relaxed) + self.place() as u64 * slab.size()
    }

    /// The object now belongs to the program.
    pub(super) fn hand_out(self) {
        self.slab().live[self.place() / 64].fetch_or(1 << (self.place() % 64), Ordering::Relaxed);
    }
}

const CHUNK: usize = 1024;
const CHUNKS: usize = 8192;
static TABLE: [Once<Box<[Slab]>>; CHUNKS] = [const { Once::new() }; CHUNKS];
/// Records without a page, and the number of those that were ever made.
static UNUSED: SpinLock<(Vec<u32>, u32)> = SpinLock::new((Vec::new(), 0));

/// The record with an index.
pub(super) fn slab(index: u32) -> &'static Slab {
    let chunk = match TABLE[index as usize / CHUNK].get() {
        Some(chunk) => chunk,
        None => TABLE[index as usize / CHUNK].call_once(|| (0..CHUNK).map(|_| Slab::default()).collect()),
    };
    &chunk[index as usize % CHUNK]
}

fn unused_record() -> Option<u32> {
    let mut unused = UNUSED.lock();
    if let Some(index) = unused.0.pop() {
        return Some(index);
    }
    let index = unused.1;
    ((index as usize) < CHUNK * CHUNKS).then(|| {
        unused.1 += 1;
        index
    })
}

impl Slab {
    pub(super) fn class(&self) -> u8 {
        self.class.load(Ordering::Relaxed) as u8
    }

    pub(super) fn zone(&self) -> usize {
        self.zone.load(Ordering::Relaxed) as usize
    }

    fn size(&self) -> u64 {
        OBJECTS[usize::from(self.class())].into()
    }

    /// The live object that begins at an offset in the page, which `index` is the record of.
    pub(super) fn find(&self, index: u32, offset: u64) -> Option<Object> {
        let place = offset / self.size();
        let object = Object::new(index, place as u32);
        let live = place * self.size() == offset
            && place < per_page(self.class()).into()
            && self.live[object.place() / 64].load(Ordering::Relaxed) & 1 << (place % 64) != 0;
        live.then_some(object)
    }

    /// The program gives an object back; `false` if it does not have it: only one of several racing callers succeeds.
    pub(super) fn take_back(&self, object: Object) -> bool {
        let bit = 1 << (object.place() % 64);
        self.live[object.place() / 64].fetch_and(!bit, Ordering::AcqRel) & bit != 0
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
        let object = Object::new(self.head, place);
        let left = page.stocked.load(Ordering::Relaxed) - 1;
        page.stocked.store(left, Ordering::Relaxed);
        if left == 0 {
            self.unlink(self.head);
        }
        Some(object)
    }

    /// Adds an object. A page that is whole again is given away, unless it is the only one.
    pub(super) fn give(&mut self, object: Object) -> Option<EmptyPage> {
        let (index, page) = ((object.0 >> 8) as u32, object.slab());
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

    /// Cuts a new page; returns its record's index, or `None` when there are too many pages.
    pub(super) fn add_page(&mut self, pa: u64, zone: usize, class: u8) -> Option<u32> {
        let index = unused_record()?;
        let page = slab(index);
        page.pa.store(pa, Ordering::Relaxed);
        page.class.store(class.into(), Ordering::Relaxed);
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
        UNUSED.lock().0.push(self.index);
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
        let index = stock.add_page(0x30_0000, 0, 2).unwrap();
        let object = stock.take().unwrap();
        let offset = object.pa() - 0x30_0000;
        assert_eq!(slab(index).find(index, offset), None);
        object.hand_out();
        assert_eq!(slab(index).find(index, offset), Some(object));
        assert_eq!(slab(index).find(index, offset + 16), None);
        assert_eq!(slab(index).find(index, 4095), None);
        assert!(slab(index).take_back(object) && !slab(index).take_back(object));
    }
}
