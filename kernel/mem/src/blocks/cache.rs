// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a CPU keeps at hand: for each class a stack of blocks of its own zone, and those of other zones on their way home.
//!
//! Only kernel code in thread context on that CPU touches them, which is not preempted: one at a time, without a lock.

use core::array;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use alloc::boxed::Box;
use hadal_hal::threads::link::AtomicRef;

use super::class::{KEPT_ORDERS, OBJECTS, per_page};
use super::slab::{Object, Slab};
use crate::buddy::FRAME_BYTES;

/// Most blocks in a stack, unless a page has more objects.
const LIMIT: usize = 64;

/// A number that only its own CPU changes.
#[derive(Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    #[inline(always)]
    pub(super) fn add(&self, more: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A stack of objects: where they are and whose page they are in, so that giving one out looks nothing up.
pub(super) struct Objects {
    len: AtomicUsize,
    places: Box<[(AtomicRef<Slab>, AtomicU64)]>,
    /// Objects given to the program and taken back, of the CPU's own zone.
    pub(super) given: Count,
    pub(super) taken_back: Count,
}

impl Objects {
    fn new(limit: usize) -> Self {
        Self {
            len: AtomicUsize::new(0),
            places: (0..limit).map(|_| (AtomicRef::none(), AtomicU64::new(0))).collect(),
            given: Count::default(),
            taken_back: Count::default(),
        }
    }

    /// Most objects in it.
    pub(super) fn limit(&self) -> usize {
        self.places.len()
    }

    /// Adds an object; `false` if the stack is full.
    #[inline(always)]
    pub(super) fn push(&self, object: Object) -> bool {
        let len = self.len.load(Ordering::Relaxed);
        let Some((slab, word)) = self.places.get(len) else { return false };
        slab.store(Some(object.slab), Ordering::Relaxed);
        word.store(object.word, Ordering::Relaxed);
        self.len.store(len + 1, Ordering::Relaxed);
        true
    }

    /// Takes the object added last.
    #[inline(always)]
    pub(super) fn pop(&self) -> Option<Object> {
        let last = self.len.load(Ordering::Relaxed).wrapping_sub(1);
        let (slab, word) = self.places.get(last)?;
        let slab = slab.load(Ordering::Relaxed)?;
        self.len.store(last, Ordering::Relaxed);
        Some(Object { slab, word: word.load(Ordering::Relaxed) })
    }
}

/// A stack of blocks of frames, by address.
pub(super) struct Frames {
    len: AtomicUsize,
    limit: usize,
    words: [AtomicU64; LIMIT],
}

impl Frames {
    fn new(limit: usize) -> Self {
        Self { len: AtomicUsize::new(0), limit, words: array::from_fn(|_| AtomicU64::new(0)) }
    }

    /// Adds a block; `false` if the stack is full.
    #[inline]
    pub(super) fn push(&self, pa: u64) -> bool {
        let len = self.len.load(Ordering::Relaxed);
        if len >= self.limit {
            return false;
        }
        self.words[len].store(pa, Ordering::Relaxed);
        self.len.store(len + 1, Ordering::Relaxed);
        true
    }

    /// Takes the block added last.
    #[inline]
    pub(super) fn pop(&self) -> Option<u64> {
        let last = self.len.load(Ordering::Relaxed).checked_sub(1)?;
        self.len.store(last, Ordering::Relaxed);
        self.words.get(last).map(|word| word.load(Ordering::Relaxed))
    }
}

/// Given out from one zone by one CPU, except what [`Objects`] counts: bytes may be negative, what one allocates another
/// frees.
#[derive(Default)]
pub(super) struct Figures {
    pub(super) bytes: Count,
    pub(super) allocations: Count,
}

/// Everything of one CPU.
pub(super) struct Cache {
    pub(super) zone: usize,
    /// By object class.
    pub(super) objects: [Objects; OBJECTS.len()],
    /// By order.
    pub(super) frames: [Frames; KEPT_ORDERS],
    /// Objects of other zones.
    pub(super) away: Objects,
    pub(super) turn: AtomicUsize,
    /// By zone.
    pub(super) figures: Box<[Figures]>,
}

impl Cache {
    /// For a CPU of `zone`, one of `zones`. It keeps up to `most_bytes` of blocks of frames: nobody else can have them.
    pub(super) fn new(zone: usize, zones: usize, most_bytes: u64) -> Self {
        let fit = |order: usize| (most_bytes / KEPT_ORDERS as u64 / (FRAME_BYTES << order)) as usize;
        Self {
            zone,
            // All of a page fits, so that a page's objects, and the bits about them, stay on one CPU where they can.
            objects: array::from_fn(|class| Objects::new(LIMIT.max(per_page(class as u8) as usize))),
            frames: array::from_fn(|order| Frames::new((LIMIT >> order).max(2).min(fit(order)))),
            away: Objects::new(LIMIT),
            turn: AtomicUsize::new(0),
            figures: (0..zones).map(|_| Figures::default()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_keeps_no_more_than_its_part() {
        for most_bytes in [0, 4096, 512 << 10, 3 << 20, 1 << 30] {
            let cache = Cache::new(0, 1, most_bytes);
            let kept = cache.frames.iter().enumerate().map(|(order, kept)| {
                let filled = (0..).take_while(|&pa| kept.push(pa)).count() as u64;
                filled * (FRAME_BYTES << order)
            });
            let kept: u64 = kept.sum();
            assert!(kept <= most_bytes, "{kept} of {most_bytes}");
            assert!(kept > 0 || most_bytes < FRAME_BYTES * KEPT_ORDERS as u64);
        }
    }
}
