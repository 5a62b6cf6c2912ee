// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether anybody is on a queue, known without its lock: mostly nobody is, and whoever changes something need not look.
//!
//! Who enters says so first and looks at what it waits for afterwards; who changes that does it first and asks afterwards.
//! With a barrier on both sides at least one of them sees the other (Intel SDM vol. 3, 9.2: only a store and a later load of
//! another place change their order).

#[cfg(not(all(test, loom)))]
use core::sync::atomic::{AtomicUsize, Ordering, fence};
#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicUsize, Ordering, fence};

/// How many are on a queue.
pub(crate) struct Presence(AtomicUsize);

impl Presence {
    #[cfg(not(all(test, loom)))]
    pub(crate) const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    #[cfg(all(test, loom))]
    pub(crate) fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// Notes how many there are now. The caller holds the queue's lock.
    pub(crate) fn set(&self, count: usize) {
        self.0.store(count, Ordering::Relaxed);
    }

    /// For who has entered, before it looks at what it waits for.
    pub(crate) fn entered(&self) {
        fence(Ordering::SeqCst);
    }

    /// For who has changed something: whether anybody might not have seen that.
    #[inline(always)]
    pub(crate) fn anybody(&self) -> bool {
        fence(Ordering::SeqCst);
        self.0.load(Ordering::Relaxed) != 0
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::sync::Arc;

    #[test]
    fn model_one_sees_the_other() {
        loom::model(|| {
            let presence = Arc::new(Presence::new());
            let condition = Arc::new(AtomicUsize::new(0));
            let waker = {
                let (presence, condition) = (presence.clone(), condition.clone());
                loom::thread::spawn(move || {
                    condition.store(1, Ordering::Release);
                    presence.anybody()
                })
            };
            presence.set(1);
            presence.entered();
            let is_true = condition.load(Ordering::Acquire) == 1;
            assert!(waker.join().unwrap() || is_true);
        });
    }
}
