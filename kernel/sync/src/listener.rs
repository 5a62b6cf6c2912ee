// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Listeners of a [`WaitQueue`](crate::WaitQueue): whoever waits for several queues at once (`poll`), or keeps a list of what has
//! changed (`epoll`).

use alloc::collections::TryReserveError;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Changes of which nothing is known: every listener is concerned.
pub const ANYTHING: u32 = u32::MAX;

/// Hears that something on a queue has changed.
pub trait Listener: Send + Sync {
    /// Is told what may have become true; returns whether somebody will look. It is called with the queue's lock held, and
    /// perhaps by an interrupt handler: it takes spin locks only, frees nothing, and leaves the queue alone.
    fn notify(&self, changes: u32) -> bool;
}

/// Which listeners hear of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeMode {
    /// This one, whatever others do.
    Always,
    /// One of those in this mode: the first that finds somebody who will look (`EPOLLEXCLUSIVE`).
    Exclusive,
}

struct Entry {
    listener: Arc<dyn Listener>,
    mode: WakeMode,
}

/// The listeners of one queue, those that always hear first.
pub(crate) struct Listeners(Vec<Entry>);

impl Listeners {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn add(&mut self, listener: Arc<dyn Listener>, mode: WakeMode) -> Result<(), TryReserveError> {
        self.0.try_reserve(1)?;
        let at = match mode {
            WakeMode::Always => self.0.iter().take_while(|entry| entry.mode == WakeMode::Always).count(),
            WakeMode::Exclusive => self.0.len(),
        };
        self.0.insert(at, Entry { listener, mode });
        Ok(())
    }

    pub(crate) fn remove(&mut self, listener: &Arc<dyn Listener>) -> Option<Arc<dyn Listener>> {
        let index = self.0.iter().position(|entry| Arc::ptr_eq(&entry.listener, listener))?;
        Some(self.0.remove(index).listener)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn tell(&self, changes: u32) {
        let mut found = false;
        for entry in &self.0 {
            match entry.mode {
                WakeMode::Always => {
                    entry.listener.notify(changes);
                }
                WakeMode::Exclusive if !found => found = entry.listener.notify(changes),
                WakeMode::Exclusive => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    struct TestListener {
        heard: AtomicU32,
        looks: bool,
    }

    impl Listener for TestListener {
        fn notify(&self, changes: u32) -> bool {
            self.heard.fetch_or(changes, Ordering::Relaxed);
            self.looks
        }
    }

    fn listener(looks: bool) -> Arc<TestListener> {
        Arc::new(TestListener { heard: AtomicU32::new(0), looks })
    }

    #[test]
    fn one_of_many_hears_after_all_others() {
        let mut listeners = Listeners::new();
        let exclusive = [listener(false), listener(true), listener(true)];
        let always = listener(true);
        for listener in &exclusive {
            listeners.add(listener.clone(), WakeMode::Exclusive).unwrap();
        }
        listeners.add(always.clone(), WakeMode::Always).unwrap();
        listeners.tell(5);
        assert_eq!(always.heard.load(Ordering::Relaxed), 5);
        assert_eq!(exclusive.each_ref().map(|listener| listener.heard.load(Ordering::Relaxed)), [5, 5, 0]);
        let second: Arc<dyn Listener> = exclusive[1].clone();
        assert!(listeners.remove(&second).is_some());
        assert!(listeners.remove(&second).is_none());
        listeners.tell(8);
        assert_eq!(exclusive.each_ref().map(|listener| listener.heard.load(Ordering::Relaxed)), [13, 5, 8]);
    }
}
