// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A bounded work-stealing deque: its owner pushes and pops at one end, thieves take from the other (Chase and Lev 2005,
//! with the orderings of Lê and others 2013).

use alloc::boxed::Box;

use crate::atomic::{AtomicUsize, Ordering, fence};

/// The deque. Positions count up for ever; a slot is a position modulo the size.
pub struct Deque {
    /// Where thieves take the next one.
    top: AtomicUsize,
    /// Where the owner puts the next one.
    bottom: AtomicUsize,
    slots: Box<[AtomicUsize]>,
}

impl Deque {
    /// An empty deque for `size` words, a power of two.
    pub fn new(size: usize) -> Self {
        assert!(size.is_power_of_two(), "positions wrap around");
        Self {
            top: AtomicUsize::new(0),
            bottom: AtomicUsize::new(0),
            slots: (0..size).map(|_| AtomicUsize::new(0)).collect(),
        }
    }

    fn slot(&self, position: usize) -> &AtomicUsize {
        &self.slots[position & (self.slots.len() - 1)]
    }

    /// Adds a word; `false` if there is no room. For the owner.
    #[inline]
    pub fn push(&self, word: usize) -> bool {
        let bottom = self.bottom.load(Ordering::Relaxed);
        let top = self.top.load(Ordering::Acquire);
        if bottom.wrapping_sub(top) >= self.slots.len() {
            return false;
        }
        self.slot(bottom).store(word, Ordering::Relaxed);
        self.bottom.store(bottom.wrapping_add(1), Ordering::Release);
        true
    }

    /// Takes the word that was added last. For the owner.
    #[inline]
    pub fn pop(&self) -> Option<usize> {
        let bottom = self.bottom.load(Ordering::Relaxed);
        if bottom == self.top.load(Ordering::Relaxed) {
            return None;
        }
        let last = bottom.wrapping_sub(1);
        self.bottom.store(last, Ordering::Relaxed);
        // A thief that does not see the new bottom has moved the top by now, and this sees that.
        fence(Ordering::SeqCst);
        let top = self.top.load(Ordering::Relaxed);
        let left = last.wrapping_sub(top).cast_signed();
        if left > 0 {
            return Some(self.slot(last).load(Ordering::Relaxed));
        }
        let won = left == 0
            && self
                .top
                .compare_exchange(top, top.wrapping_add(1), Ordering::SeqCst, Ordering::Relaxed)
                .is_ok();
        self.bottom.store(bottom, Ordering::Relaxed);
        won.then(|| self.slot(last).load(Ordering::Relaxed))
    }

    /// Takes the oldest word. For anybody.
    pub fn steal(&self) -> Option<usize> {
        loop {
            let top = self.top.load(Ordering::Acquire);
            fence(Ordering::SeqCst);
            let bottom = self.bottom.load(Ordering::Acquire);
            if bottom.wrapping_sub(top).cast_signed() <= 0 {
                return None;
            }
            let word = self.slot(top).load(Ordering::Relaxed);
            let taken =
                self.top.compare_exchange(top, top.wrapping_add(1), Ordering::SeqCst, Ordering::Relaxed);
            if taken.is_ok() {
                return Some(word);
            }
        }
    }

    /// Number of words pushed so far minus those popped: tells which of two pushes was later. For the owner.
    pub(crate) fn height(&self) -> usize {
        self.bottom.load(Ordering::Relaxed)
    }

    /// Whether there is nothing in it, as of now.
    pub fn is_empty(&self) -> bool {
        let top = self.top.load(Ordering::Relaxed);
        self.bottom.load(Ordering::Relaxed).wrapping_sub(top).cast_signed() <= 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Deque;

    #[test]
    fn the_owner_takes_the_newest_thieves_the_oldest() {
        let deque = Deque::new(4);
        assert!(deque.pop().is_none() && deque.steal().is_none());
        assert!((1..=4).all(|word| deque.push(word)) && !deque.push(5));
        assert_eq!([deque.pop(), deque.steal(), deque.pop(), deque.steal()], [4, 1, 3, 2].map(Some));
        assert!(deque.pop().is_none() && deque.steal().is_none() && deque.is_empty());
    }

    #[test]
    fn positions_wrap_around() {
        let deque = Deque::new(2);
        for word in 1..1000 {
            assert!(deque.push(word));
            let taken = if word % 2 == 0 { deque.pop() } else { deque.steal() };
            assert_eq!(taken, Some(word));
        }
    }
}

/// Run with `RUSTFLAGS="--cfg loom" cargo test -p hadal-task --release --lib model`.
#[cfg(all(test, loom))]
mod model {
    use super::Deque;
    use loom::sync::Arc;

    /// An owner that pushes and pops and two thieves: each word is taken once.
    #[test]
    fn model_each_word_is_taken_once() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let deque = Arc::new(Deque::new(2));
            assert!(deque.push(1) && deque.push(2));
            let thieves: Vec<_> = (0..2)
                .map(|_| {
                    let deque = deque.clone();
                    loom::thread::spawn(move || deque.steal())
                })
                .collect();
            let mut taken: Vec<usize> = deque.pop().into_iter().collect();
            if deque.push(3) {
                taken.extend(deque.pop());
            } else {
                taken.push(3);
            }
            taken.extend(thieves.into_iter().filter_map(|thief| thief.join().unwrap()));
            taken.extend(core::iter::from_fn(|| deque.pop()));
            taken.sort_unstable();
            assert_eq!(taken, [1, 2, 3]);
        });
    }
}
