// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Notifications of all CPUs at the cost of one: the sender counts up one word, and each CPU compares it with what it has
//! seen. So the time that the sender takes does not grow with the number of CPUs, and all of them start at once.

use crate::EVENTS;
use crate::atomic::{AtomicU64, Ordering};
use crate::pending::Pending;

/// What all CPUs share.
pub(crate) struct Broadcasts {
    /// Broadcasts of all events: the one word that a CPU looks at in each event interrupt.
    total: AtomicU64,
    /// Events that were ever broadcast since they were registered.
    used: Pending,
    counts: [AtomicU64; EVENTS],
}

/// What one CPU has seen of them; changed by that CPU with interrupts off.
pub(crate) struct Seen {
    total: AtomicU64,
    counts: [AtomicU64; EVENTS],
}

impl Seen {
    pub(crate) fn new() -> Self {
        Self { total: AtomicU64::new(0), counts: core::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

impl Broadcasts {
    pub(crate) fn new() -> Self {
        Self {
            total: AtomicU64::new(0),
            used: Pending::new(),
            counts: core::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// Notifies all CPUs, or with `skip` all but that one, which is the calling CPU with interrupts off.
    pub(crate) fn post(&self, event: usize, skip: Option<&Seen>) {
        self.counts[event].fetch_add(1, Ordering::SeqCst);
        if let Some(seen) = skip {
            seen.counts[event].fetch_add(1, Ordering::Relaxed);
        }
        self.used.set(event);
        self.total.fetch_add(1, Ordering::SeqCst);
    }

    /// Calls `each` for every event that was broadcast since the calling CPU looked last.
    #[inline]
    pub(crate) fn take_each(&self, seen: &Seen, mut each: impl FnMut(usize)) {
        let total = self.total.load(Ordering::Acquire);
        if seen.total.load(Ordering::Relaxed) == total {
            return;
        }
        seen.total.store(total, Ordering::Relaxed);
        self.used.look_at_each(|event| {
            let count = self.counts[event].load(Ordering::SeqCst);
            if seen.counts[event].load(Ordering::Relaxed) != count {
                seen.counts[event].store(count, Ordering::Relaxed);
                each(event);
            }
        });
    }

    /// Makes a CPU forget an event that nobody broadcasts or takes at this time.
    pub(crate) fn forget(&self, event: usize, seen: &Seen) {
        seen.counts[event].store(self.counts[event].load(Ordering::SeqCst), Ordering::SeqCst);
    }

    /// No CPU need look at the event any more.
    pub(crate) fn retire(&self, event: usize) {
        self.used.clear(event);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn take(broadcasts: &Broadcasts, seen: &Seen) -> Vec<usize> {
        let mut events = Vec::new();
        broadcasts.take_each(seen, |event| events.push(event));
        events
    }

    #[test]
    fn each_cpu_takes_a_broadcast_once_and_the_sender_may_be_left_out() {
        let (broadcasts, sender, other) = (Broadcasts::new(), Seen::new(), Seen::new());
        broadcasts.post(7, Some(&sender));
        broadcasts.post(7, Some(&sender));
        broadcasts.post(200, None);
        assert_eq!(take(&broadcasts, &other), [7, 200]);
        assert_eq!(take(&broadcasts, &sender), [200]);
        assert!(take(&broadcasts, &other).is_empty());
        // What another CPU sends is not lost among the sender's own.
        broadcasts.post(7, Some(&sender));
        broadcasts.post(7, Some(&other));
        assert_eq!((take(&broadcasts, &sender), take(&broadcasts, &other)), (Vec::from([7]), Vec::from([7])));
    }

    #[test]
    fn a_retired_event_is_forgotten() {
        let (broadcasts, seen) = (Broadcasts::new(), Seen::new());
        broadcasts.post(3, None);
        broadcasts.forget(3, &seen);
        broadcasts.retire(3);
        broadcasts.post(4, None);
        assert_eq!(take(&broadcasts, &seen), [4]);
    }
}
