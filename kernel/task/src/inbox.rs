// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A bounded queue that any CPU pushes to and any takes from, oldest first: each slot has a number that says whose turn it
//! is (Vyukov's bounded queue).

use alloc::boxed::Box;

use crate::atomic::{AtomicUsize, Ordering};

struct Slot {
    /// The position whose push may fill it, or plus one, whose take may empty it.
    turn: AtomicUsize,
    word: AtomicUsize,
}

/// The queue.
pub struct Inbox {
    head: AtomicUsize,
    tail: AtomicUsize,
    slots: Box<[Slot]>,
}

impl Inbox {
    /// An empty queue for `size` words, a power of two.
    pub fn new(size: usize) -> Self {
        assert!(size.is_power_of_two(), "positions wrap around");
        let slot = |position| Slot { turn: AtomicUsize::new(position), word: AtomicUsize::new(0) };
        Self { head: AtomicUsize::new(0), tail: AtomicUsize::new(0), slots: (0..size).map(slot).collect() }
    }

    fn slot(&self, position: usize) -> &Slot {
        &self.slots[position & (self.slots.len() - 1)]
    }

    /// Adds a word; `false` if there is no room.
    pub fn push(&self, word: usize) -> bool {
        let mut tail = self.tail.load(Ordering::Relaxed);
        loop {
            let slot = self.slot(tail);
            let ahead = slot.turn.load(Ordering::Acquire).wrapping_sub(tail).cast_signed();
            if ahead < 0 {
                return false;
            }
            let next = tail.wrapping_add(1);
            if ahead > 0 {
                tail = self.tail.load(Ordering::Relaxed);
                continue;
            }
            match self.tail.compare_exchange_weak(tail, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    slot.word.store(word, Ordering::Relaxed);
                    slot.turn.store(next, Ordering::Release);
                    return true;
                }
                Err(found) => tail = found,
            }
        }
    }

    /// Takes the oldest word. One that is being pushed at this moment counts as not there.
    pub fn take(&self) -> Option<usize> {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            let slot = self.slot(head);
            let next = head.wrapping_add(1);
            let ahead = slot.turn.load(Ordering::Acquire).wrapping_sub(next).cast_signed();
            if ahead < 0 {
                return None;
            }
            if ahead > 0 {
                head = self.head.load(Ordering::Relaxed);
                continue;
            }
            match self.head.compare_exchange_weak(head, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    let word = slot.word.load(Ordering::Relaxed);
                    slot.turn.store(head.wrapping_add(self.slots.len()), Ordering::Release);
                    return Some(word);
                }
                Err(found) => head = found,
            }
        }
    }

    /// Whether there is nothing to take, as of now.
    pub fn is_empty(&self) -> bool {
        let head = self.head.load(Ordering::Relaxed);
        self.slot(head).turn.load(Ordering::Acquire) != head.wrapping_add(1)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Inbox;

    #[test]
    fn words_come_out_as_they_went_in() {
        let inbox = Inbox::new(4);
        for round in 0..10 {
            assert!(inbox.is_empty() && inbox.take().is_none());
            assert!((0..4).all(|word| inbox.push(round + word)) && !inbox.push(9));
            assert!((0..4).all(|word| inbox.take() == Some(round + word)));
        }
    }
}

/// Run with `RUSTFLAGS="--cfg loom" cargo test -p hadal-task --release --lib model`.
#[cfg(all(test, loom))]
mod model {
    use super::Inbox;
    use loom::sync::Arc;

    /// Two that push and one that takes: each word is taken once.
    #[test]
    fn model_pushes_from_two_sides() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let inbox = Arc::new(Inbox::new(2));
            let pushers: Vec<_> = (1..=2)
                .map(|word| {
                    let inbox = inbox.clone();
                    loom::thread::spawn(move || assert!(inbox.push(word)))
                })
                .collect();
            let early = inbox.take();
            pushers.into_iter().for_each(|pusher| pusher.join().unwrap());
            let mut taken: Vec<usize> =
                early.into_iter().chain(core::iter::from_fn(|| inbox.take())).collect();
            taken.sort_unstable();
            assert_eq!(taken, [1, 2]);
        });
    }
}
