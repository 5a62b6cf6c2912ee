// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Numbers and what they stand for: a tree of fixed depth that grows a page at a time and never moves.
//!
//! Every number has a place behind a lock of its own, so looking one up meets nobody who looks up another. Which numbers are
//! taken is in bits beside the places; each level notes which parts below are full, so that the lowest free number is found
//! in a constant number of steps. The bits are changed by one caller at a time: whoever holds the table's lock. Mostly a free
//! number is near, and the levels above do not change.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};

use hadal_hal::memory::fallible;
use hadal_hal::sync::RwSpinLock;
use spin::Once;

use super::Slot;
use crate::errno::Result;

/// Places in a chunk, and chunks in a node.
const FAN: usize = 128;
/// Nodes of a tree.
const NODES: usize = 64;
/// Numbers of a tree.
pub(super) const NUMBERS: usize = NODES * FAN * FAN;

/// [`FAN`] bits.
struct Bits([AtomicU64; FAN / 64]);

/// The place of a number. Only threads use it, so interrupts stay on.
pub(super) type Place = RwSpinLock<Option<Slot>>;

/// [`FAN`] places side by side.
pub(super) struct Chunk {
    places: Box<[Place; FAN]>,
    taken: Bits,
}

struct Node {
    chunks: Box<[Once<Box<Chunk>>; FAN]>,
    /// Chunks that are there.
    made: Bits,
    /// Chunks without a free number.
    full: Bits,
}

/// The tree.
pub(super) struct Tree {
    nodes: [Once<Box<Node>>; NODES],
    /// Nodes that are there.
    made: AtomicU64,
    /// Nodes without a free number.
    full: AtomicU64,
}

impl Bits {
    const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; FAN / 64])
    }

    /// Sets or clears a bit, and returns the word that it is in as it was before. One caller at a time.
    #[inline]
    fn set(&self, index: usize, value: bool) -> u64 {
        let word = &self.0[index / 64];
        let (bit, old) = (1 << (index % 64), word.load(Ordering::Relaxed));
        word.store(if value { old | bit } else { old & !bit }, Ordering::Relaxed);
        old
    }

    /// Sets a bit for good; callers may race.
    fn mark(&self, index: usize) {
        self.0[index / 64].fetch_or(1 << (index % 64), Ordering::Release);
    }

    fn are_all_set(&self) -> bool {
        self.0.iter().all(|word| word.load(Ordering::Relaxed) == u64::MAX)
    }

    /// The first index from `start` on whose bit is `value`.
    #[inline]
    fn next(&self, start: usize, value: bool) -> Option<usize> {
        let flip = if value { 0 } else { u64::MAX };
        (start / 64..FAN / 64).find_map(|index| {
            let before = if index == start / 64 { (1 << (start % 64)) - 1 } else { 0 };
            let bits = (self.0[index].load(Ordering::Relaxed) ^ flip) & !before;
            (bits != 0).then(|| index * 64 + bits.trailing_zeros() as usize)
        })
    }
}

/// Node, chunk and place of a number.
fn parts(number: usize) -> (usize, usize, usize) {
    (number / (FAN * FAN), number / FAN % FAN, number % FAN)
}

impl Tree {
    pub(super) const fn new() -> Self {
        Self { nodes: [const { Once::new() }; NODES], made: AtomicU64::new(0), full: AtomicU64::new(0) }
    }

    /// The places around a number, if any of them has ever been taken.
    #[inline]
    pub(super) fn chunk(&self, number: usize) -> Option<&Chunk> {
        let (node, chunk, _) = parts(number);
        self.nodes.get(node)?.get()?.chunks[chunk].get().map(|chunk| &**chunk)
    }

    /// The place of a number, if it has ever been taken or one near it has.
    #[inline]
    pub(super) fn place(&self, number: usize) -> Option<&Place> {
        self.chunk(number).map(|chunk| chunk.place(number))
    }

    /// Makes sure that a number below [`NUMBERS`] has a place. Without the table's lock, since it asks for memory.
    pub(super) fn grow(&self, number: usize) -> Result<()> {
        let (node, chunk, _) = parts(number);
        if self.nodes[node].get().is_none() {
            let chunks = fallible::collected((0..FAN).map(|_| Once::new()))?;
            let fresh =
                fallible::boxed(Node { chunks: array(chunks), made: Bits::new(), full: Bits::new() })?;
            self.nodes[node].call_once(|| fresh);
            self.made.fetch_or(1 << node, Ordering::Release);
        }
        let Some(node) = self.nodes[node].get() else { return Ok(()) };
        if node.chunks[chunk].get().is_none() {
            let places = fallible::collected((0..FAN).map(|_| Place::new(None)))?;
            let fresh = fallible::boxed(Chunk { places: array(places), taken: Bits::new() })?;
            node.chunks[chunk].call_once(|| fresh);
            node.made.mark(chunk);
        }
        Ok(())
    }

    /// The lowest free number from `start` on; it may have no place yet. With the table's lock.
    pub(super) fn lowest_free(&self, start: usize) -> usize {
        let (first_node, first_chunk, first_place) = parts(start);
        for index in first_node..NODES {
            if self.full.load(Ordering::Relaxed) & 1 << index != 0 {
                continue;
            }
            let base = (index * FAN * FAN).max(start);
            let Some(node) = self.nodes[index].get() else { return base };
            let mut chunk = if index == first_node { first_chunk } else { 0 };
            while let Some(open) = node.full.next(chunk, false) {
                let number = (index * FAN + open) * FAN;
                let from = if number < start { first_place } else { 0 };
                match node.chunks[open].get().map(|chunk| chunk.taken.next(from, false)) {
                    None => return number + from,
                    Some(Some(place)) => return number + place,
                    // Free numbers below the start only: at most once.
                    Some(None) => chunk = open + 1,
                }
            }
        }
        NUMBERS
    }

    /// The lowest number from `start` on that is taken.
    pub(super) fn next_taken(&self, start: usize) -> Option<usize> {
        let (first_node, first_chunk, first_place) = parts(start);
        for index in first_node..NODES {
            if self.made.load(Ordering::Acquire) >> index == 0 {
                return None;
            }
            let Some(node) = self.nodes[index].get() else { continue };
            let mut chunk = if index == first_node { first_chunk } else { 0 };
            while let Some(at) = node.made.next(chunk, true) {
                let from = if (index, at) == (first_node, first_chunk) { first_place } else { 0 };
                let found = node.chunks[at].get().and_then(|chunk| chunk.taken.next(from, true));
                if let Some(place) = found {
                    return Some((index * FAN + at) * FAN + place);
                }
                chunk = at + 1;
            }
        }
        None
    }

    /// Notes that a number is taken, or free. With the table's lock; `chunk` has its place.
    #[inline]
    pub(super) fn note(&self, chunk: &Chunk, number: usize, is_taken: bool) {
        const FULL: u64 = u64::MAX;
        let before = chunk.taken.set(number % FAN, is_taken);
        let after = if is_taken { before | 1 << (number % 64) } else { before & !(1 << (number % 64)) };
        if before != after && (before == FULL || after == FULL) {
            self.note_above(chunk, number);
        }
    }

    /// Notes whether the chunk of a number has a free one, and its node.
    #[cold]
    fn note_above(&self, places: &Chunk, number: usize) {
        let (index, chunk, _) = parts(number);
        let Some(node) = self.nodes[index].get() else { return };
        node.full.set(chunk, places.taken.are_all_set());
        let old = self.full.load(Ordering::Relaxed);
        let full = if node.full.are_all_set() { old | 1 << index } else { old & !(1 << index) };
        self.full.store(full, Ordering::Relaxed);
    }
}

impl Chunk {
    /// The place of one of its numbers.
    #[inline]
    pub(super) fn place(&self, number: usize) -> &Place {
        &self.places[number % FAN]
    }

    /// Whether one of its numbers is taken. With the table's lock.
    #[inline]
    pub(super) fn is_taken(&self, number: usize) -> bool {
        let place = number % FAN;
        self.taken.0[place / 64].load(Ordering::Relaxed) & 1 << (place % 64) != 0
    }

    /// The lowest free number from one of its numbers on, if it is here.
    #[inline]
    pub(super) fn next_free(&self, start: usize) -> Option<usize> {
        self.taken.next(start % FAN, false).map(|place| start - start % FAN + place)
    }
}

/// So many values in a box whose length the type knows.
fn array<T>(values: Vec<T>) -> Box<[T; FAN]> {
    values.into_boxed_slice().try_into().unwrap_or_else(|_| unreachable!("a chunk or node has FAN parts"))
}
