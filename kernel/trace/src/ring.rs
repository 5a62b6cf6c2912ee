// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A ring of records that keeps the newest ones.
//!
//! One CPU writes, from its threads and from interrupts that come in the middle of that, so two writers may be under way at
//! a time, one of them standing still. Each takes a number with one atomic addition and then fills the slot of that number.
//! A reader on any CPU tells by the number in a slot's tag whether it holds the record that it looks for, whole: it
//! misses a record that is being written, and never sees half of one.

use alloc::boxed::Box;
use alloc::vec::Vec;

#[cfg(not(loom))]
use core::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering, fence};

use hadal_abi::trace::{Kind, Record};

/// Tag of a slot that holds no whole record.
const EMPTY: u64 = 0;

/// One record, word by word.
struct Slot {
    time: AtomicU64,
    tag: AtomicU64,
    words: [AtomicU64; 2],
}

impl Slot {
    fn new() -> Self {
        Self {
            time: AtomicU64::new(0),
            tag: AtomicU64::new(EMPTY),
            words: [AtomicU64::new(0), AtomicU64::new(0)],
        }
    }
}

/// The records of one CPU.
pub struct Ring {
    slots: Box<[Slot]>,
    /// Number of the next record.
    next: AtomicU64,
}

impl Ring {
    /// A ring of as many records as the greatest power of two up to `records` says, at least one; `None` when memory is out.
    ///
    /// An interrupt must not fill a whole ring while it interrupts a writer: take thousands.
    pub fn new(records: usize) -> Option<Self> {
        let len = 1 << records.max(1).ilog2();
        let mut slots = Vec::new();
        slots.try_reserve_exact(len).ok()?;
        slots.extend((0..len).map(|_| Slot::new()));
        Some(Self { slots: slots.into_boxed_slice(), next: AtomicU64::new(0) })
    }

    fn slot(&self, number: u64) -> &Slot {
        &self.slots[number as usize & (self.slots.len() - 1)]
    }

    /// Adds a record and overwrites the oldest when the ring is full.
    pub fn push(&self, time: u64, kind: Kind, thread: u32, words: [u64; 2]) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let slot = self.slot(number);
        slot.tag.store(EMPTY, Ordering::Relaxed);
        // Who sees a word of this record sees the slot empty, or this record's tag.
        fence(Ordering::Release);
        slot.time.store(time, Ordering::Relaxed);
        for (place, word) in slot.words.iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
        slot.tag.store(Record::tag(kind, thread, number), Ordering::Release);
    }

    /// Number that the next record will have: how many were made.
    pub fn made(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Records that the ring holds.
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// Number of the oldest record that is not overwritten.
    pub fn oldest(&self) -> u64 {
        self.made().saturating_sub(self.slots.len() as u64)
    }

    /// The record with a number in four words ([`Record::from_words`]); `None` if it is overwritten or not yet whole.
    pub fn read(&self, number: u64) -> Option<[u64; 4]> {
        let slot = self.slot(number);
        let tag = slot.tag.load(Ordering::Acquire);
        if tag == EMPTY || (tag >> 32) as u32 != number as u32 {
            return None;
        }
        let time = slot.time.load(Ordering::Relaxed);
        let [a, b] = [0, 1].map(|word: usize| slot.words[word].load(Ordering::Relaxed));
        // If one of these words is of a later record, the tag is no longer the same.
        fence(Ordering::Acquire);
        (slot.tag.load(Ordering::Relaxed) == tag).then_some([time, tag, a, b])
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn whole(ring: &Ring) -> Vec<Record> {
        (ring.oldest()..ring.made())
            .filter_map(|number| Record::from_words(ring.read(number).unwrap()))
            .collect()
    }

    #[test]
    fn keeps_the_newest_and_counts_all() {
        let ring = Ring::new(5).unwrap();
        assert_eq!(ring.capacity(), 4);
        for time in 0..7 {
            ring.push(time, Kind::Mark, 3, [time * 2, time * 3]);
        }
        assert_eq!((ring.made(), ring.oldest()), (7, 3));
        let records = whole(&ring);
        let times: Vec<u64> = records.iter().map(|record| record.time).collect();
        assert_eq!(times, [3, 4, 5, 6]);
        assert!(records.iter().all(|r| (r.a, r.b, r.thread) == (r.time * 2, r.time * 3, 3)));
        assert_eq!((ring.read(2), ring.read(7)), (None, None));
    }

    #[test]
    fn an_empty_ring_has_no_record() {
        let ring = Ring::new(0).unwrap();
        assert_eq!((ring.capacity(), ring.made(), ring.read(0)), (1, 0, None));
    }

    #[test]
    fn a_reader_never_sees_half_a_record() {
        let ring = Ring::new(8).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| (0..200_000).for_each(|n| ring.push(n, Kind::Mark, 1, [n, n])));
            for _ in 0..2000 {
                for number in ring.oldest()..ring.made() {
                    if let Some([time, _, a, b]) = ring.read(number) {
                        assert_eq!((time, a, b), (number, number, number));
                    }
                }
            }
        });
    }
}

/// Run with `RUSTFLAGS="--cfg loom" cargo test -p hadal-trace --release --lib model`.
#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;

    /// An interrupt is modelled as a second writer, which may do more than an interrupt can; the reader looks at any time.
    #[test]
    fn model_two_writers_and_a_reader() {
        loom::model(|| {
            let ring = Arc::new(Ring::new(2).unwrap());
            let writers: Vec<_> = (0..2)
                .map(|thread| {
                    let ring = ring.clone();
                    loom::thread::spawn(move || {
                        let value = u64::from(thread) + 10;
                        ring.push(value, Kind::Mark, thread, [value, value]);
                    })
                })
                .collect();
            for number in 0..2 {
                check(&ring, number);
            }
            for writer in writers {
                writer.join().unwrap();
            }
            assert!((0..2).all(|number| check(&ring, number)), "both are there at the end");
        });
    }

    /// One writer that goes around the ring, and a reader.
    #[test]
    fn model_overwriting() {
        loom::model(|| {
            let ring = Arc::new(Ring::new(1).unwrap());
            let writer = {
                let ring = ring.clone();
                loom::thread::spawn(move || {
                    for value in 10..12 {
                        ring.push(value, Kind::Mark, value as u32 - 10, [value, value]);
                    }
                })
            };
            check(&ring, 0);
            check(&ring, 1);
            writer.join().unwrap();
            assert!(!check(&ring, 0) && check(&ring, 1));
        });
    }

    /// Whether a record is there; if so it must be whole.
    fn check(ring: &Ring, number: u64) -> bool {
        let Some(words) = ring.read(number) else { return false };
        let record = Record::from_words(words).unwrap();
        let value = u64::from(record.thread) + 10;
        assert_eq!((record.time, record.a, record.b), (value, value, value));
        true
    }
}
