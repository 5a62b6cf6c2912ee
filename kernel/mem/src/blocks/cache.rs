// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a CPU keeps at hand: for each class a stack of blocks of its own zone, and those of other zones on their way home.
//!
//! Only kernel code in thread context on that CPU touches them, which is not preempted: one at a time, without a lock.

use core::array;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use alloc::boxed::Box;

use super::class::{KEPT, OBJECTS};

/// Most blocks in a stack.
const LIMIT: usize = 64;
/// Blocks that move between a CPU and its zone at a time.
pub(super) const BATCH: usize = LIMIT / 2;

/// A stack of words.
pub(super) struct Stack {
    len: AtomicUsize,
    limit: usize,
    words: [AtomicU64; LIMIT],
}

impl Stack {
    fn new(limit: usize) -> Self {
        Self { len: AtomicUsize::new(0), limit, words: array::from_fn(|_| AtomicU64::new(0)) }
    }

    /// Adds a word; `false` if the stack is full.
    #[inline]
    pub(super) fn push(&self, word: u64) -> bool {
        let len = self.len.load(Ordering::Relaxed);
        if len >= self.limit {
            return false;
        }
        self.words[len].store(word, Ordering::Relaxed);
        self.len.store(len + 1, Ordering::Relaxed);
        true
    }

    /// Takes the word added last.
    #[inline]
    pub(super) fn pop(&self) -> Option<u64> {
        let last = self.len.load(Ordering::Relaxed).checked_sub(1)?;
        self.len.store(last, Ordering::Relaxed);
        self.words.get(last).map(|word| word.load(Ordering::Relaxed))
    }
}

/// Given out from one zone, by one CPU: bytes may be negative, what one allocates another frees.
#[derive(Default)]
pub(super) struct Figures {
    pub(super) bytes: AtomicU64,
    pub(super) allocations: AtomicU64,
}

/// Everything of one CPU.
pub(super) struct Cache {
    pub(super) zone: usize,
    /// By [`super::class::Class::kept`].
    pub(super) kept: [Stack; KEPT],
    /// Objects of other zones.
    pub(super) away: Stack,
    pub(super) turn: AtomicUsize,
    /// By zone.
    pub(super) figures: Box<[Figures]>,
}

impl Cache {
    pub(super) fn new(zone: usize, zones: usize) -> Self {
        let limit = |class: usize| match class.checked_sub(OBJECTS.len()) {
            None => LIMIT,
            Some(order) => (LIMIT >> order).max(2),
        };
        Self {
            zone,
            kept: array::from_fn(|class| Stack::new(limit(class))),
            away: Stack::new(LIMIT),
            turn: AtomicUsize::new(0),
            figures: (0..zones).map(|_| Figures::default()).collect(),
        }
    }
}
