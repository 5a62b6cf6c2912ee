// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tables of actions: what was registered, by number, readable from interrupts without a lock.
//!
//! A slot's `key` is the number that the program knows, with a generation in its upper bits, or 0 while nothing is
//! registered: an old number never means what came after it. Slots are given out again in the order in which they came
//! back, so that a late interrupt finds an empty one.

use alloc::collections::VecDeque;

use hadal_hal::interrupts::handler::{Handler, Kind};
use hadal_hal::sync::{Rank, SpinLock};

use crate::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

/// What to call for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    /// A function of the program, or 0 for none.
    pub function: usize,
    /// Its argument.
    pub arg: usize,
    /// It uses vector registers.
    pub vectors: bool,
}

impl Action {
    /// The action as something that the hardware layer can call.
    #[inline]
    pub(crate) fn handler(self, kind: Kind) -> Handler {
        Handler { kind, vectors: self.vectors, function: self.function, arg: self.arg }
    }
}

struct Slot {
    key: AtomicU32,
    function: AtomicUsize,
    arg: AtomicUsize,
    vectors: AtomicBool,
}

/// Free slots, the one that has been free longest in front, each with its next key.
struct Free(VecDeque<u32>);

/// `N` slots; `N` is a power of two.
pub(crate) struct Slots<const N: usize> {
    slots: [Slot; N],
    free: SpinLock<Free>,
}

impl<const N: usize> Slots<N> {
    pub(crate) fn new() -> Self {
        let slot = |_| Slot {
            key: AtomicU32::new(0),
            function: AtomicUsize::new(0),
            arg: AtomicUsize::new(0),
            vectors: AtomicBool::new(false),
        };
        // Keys start at `N`, so that none is 0.
        let keys = (N as u32..2 * N as u32).collect();
        Self { slots: core::array::from_fn(slot), free: SpinLock::ranked(Rank::EventSlots, Free(keys)) }
    }

    /// The slot that a key names or named.
    #[inline]
    pub(crate) fn index(key: u32) -> usize {
        key as usize % N
    }

    /// Registers an action and returns its key; `None` when all slots are taken.
    pub(crate) fn register(&self, action: Action) -> Option<u32> {
        let key = self.free.lock().0.pop_front()?;
        let slot = &self.slots[Self::index(key)];
        slot.function.store(action.function, Ordering::Relaxed);
        slot.arg.store(action.arg, Ordering::Relaxed);
        slot.vectors.store(action.vectors, Ordering::Relaxed);
        slot.key.store(key, Ordering::SeqCst);
        Some(key)
    }

    /// Whether a key names a registered action.
    #[inline]
    pub(crate) fn is_registered(&self, key: u32) -> bool {
        key != 0 && self.slots[Self::index(key)].key.load(Ordering::SeqCst) == key
    }

    /// What is registered in a slot, with its key.
    #[inline]
    pub(crate) fn action(&self, index: usize) -> Option<(u32, Action)> {
        let slot = &self.slots[index];
        let key = slot.key.load(Ordering::SeqCst);
        let action = || Action {
            function: slot.function.load(Ordering::Relaxed),
            arg: slot.arg.load(Ordering::Relaxed),
            vectors: slot.vectors.load(Ordering::Relaxed),
        };
        (key != 0).then(|| (key, action()))
    }

    /// Begins to take an action away: from now on its key means nothing. One caller gets `true`; it waits until nobody uses
    /// the slot, and then calls [`Slots::give_back`].
    pub(crate) fn begin_unregister(&self, key: u32) -> bool {
        let slot = &self.slots[Self::index(key)].key;
        key != 0 && slot.compare_exchange(key, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// Makes a slot free for the next registration, under a new key.
    pub(crate) fn give_back(&self, key: u32) {
        let next = key.checked_add(N as u32).unwrap_or(N as u32 + Self::index(key) as u32);
        self.free.lock().0.push_back(next);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const ACTION: Action = Action { function: 0x40_0000, arg: 7, vectors: true };

    #[test]
    fn old_keys_mean_nothing() {
        let slots = Slots::<2>::new();
        let first = slots.register(ACTION).unwrap();
        let second = slots.register(ACTION).unwrap();
        assert_eq!(slots.register(ACTION), None);
        assert_eq!(slots.action(Slots::<2>::index(first)), Some((first, ACTION)));
        assert!(slots.begin_unregister(first) && !slots.begin_unregister(first));
        assert!(!slots.is_registered(first) && slots.is_registered(second));
        assert_eq!(slots.action(Slots::<2>::index(first)), None);
        slots.give_back(first);
        let third = slots.register(ACTION).unwrap();
        assert!(third != first && Slots::<2>::index(third) == Slots::<2>::index(first));
        assert!(!slots.is_registered(first) && slots.is_registered(third) && !slots.is_registered(0));
        assert!(!slots.begin_unregister(first) && !slots.begin_unregister(0));
    }

    #[test]
    fn keys_wrap_around_without_becoming_zero() {
        let slots = Slots::<2>::new();
        let key = slots.register(ACTION).unwrap();
        let last = u32::MAX - 1 + key % 2;
        slots.free.lock().0.clear();
        slots.give_back(last);
        let next = slots.register(ACTION).unwrap();
        assert_eq!((next % 2, next >= 2), (key % 2, true));
    }
}
