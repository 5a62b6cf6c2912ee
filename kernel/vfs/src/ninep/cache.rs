// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Look-ups of a read-only tree.
//!
//! They are what the server said once. That is safe where the program cannot change anything: a change the host
//! makes while a program runs may go unnoticed, as it may on any network file system. The number is bounded; the oldest
//! go first.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;

use hadal_hal::sync::{Rank, SpinLock};

use super::fs::Node;

/// Most look-ups remembered.
const LOOKUPS_MAX: usize = 8192;

/// A map that forgets its oldest entry when it is full.
pub(super) struct Bounded<K, V> {
    map: BTreeMap<K, V>,
    order: VecDeque<K>,
}

impl<K: Ord + Clone, V> Bounded<K, V> {
    pub(super) const fn new() -> Self {
        Self { map: BTreeMap::new(), order: VecDeque::new() }
    }

    /// Takes everything out.
    pub(super) fn take(&mut self) -> Self {
        core::mem::replace(self, Self::new())
    }

    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.map.get(key)
    }

    /// Adds an entry; returns what left: the value it replaced, or the oldest one.
    pub(super) fn insert(&mut self, key: K, value: V, max: usize) -> Option<V> {
        if let Some(old) = self.map.get_mut(&key) {
            return Some(core::mem::replace(old, value));
        }
        let evicted = if self.map.len() >= max {
            self.order.pop_front().and_then(|oldest| self.map.remove(&oldest))
        } else {
            None
        };
        self.order.push_back(key.clone());
        self.map.insert(key, value);
        evicted
    }
}

type LookupKey = (u64, Box<[u8]>);

/// Remembers which names a directory has, and which it has not.
pub(super) struct LookupCache {
    entries: SpinLock<Bounded<LookupKey, Option<Arc<Node>>>>,
}

impl LookupCache {
    pub(super) const fn new() -> Self {
        Self { entries: SpinLock::ranked(Rank::Files, Bounded::new()) }
    }

    /// What is known about a name: nothing, that it is missing, or its node.
    pub(super) fn get(&self, directory: u64, name: &[u8]) -> Option<Option<Arc<Node>>> {
        let key = (directory, Box::from(name));
        self.entries.lock().map.get(&key).cloned()
    }

    pub(super) fn put(&self, directory: u64, name: &[u8], node: Option<Arc<Node>>) {
        let key = (directory, Box::from(name));
        let gone = self.entries.lock().insert(key, node, LOOKUPS_MAX);
        // Dropping a node may ask the server, so not under the lock.
        drop(gone);
    }

    pub(super) fn clear(&self) {
        let all = self.entries.lock().take();
        drop(all);
    }
}
