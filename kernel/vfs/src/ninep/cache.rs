// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Caches of a read-only tree: look-ups and file content.
//!
//! They hold what the server said once. That is safe where the program cannot change anything: a change the host
//! makes while a program runs may go unnoticed, as it may on any network file system. Both are bounded and drop
//! their oldest entry first.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;

use hadal_hal::sync::{Rank, SpinLock};

use super::fs::Node;

/// Most look-ups remembered.
const LOOKUPS_MAX: usize = 8192;

/// A map that forgets its oldest entry when it is full.
struct Bounded<K, V> {
    map: BTreeMap<K, V>,
    order: VecDeque<K>,
}

impl<K: Ord + Clone, V> Bounded<K, V> {
    const fn new() -> Self {
        Self { map: BTreeMap::new(), order: VecDeque::new() }
    }

    /// Takes everything out.
    fn take(&mut self) -> Self {
        core::mem::replace(self, Self::new())
    }

    /// Adds an entry; returns what left: the value it replaced, or the oldest one.
    fn insert(&mut self, key: K, value: V, max: usize) -> Option<V> {
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

/// Size of a cached piece of a file.
pub(super) const CHUNK: usize = 64 * 1024;

/// The file's number and the piece's index.
type ChunkKey = (u64, u64);

/// Remembers pieces of files.
pub(super) struct ContentCache {
    chunks: SpinLock<Bounded<ChunkKey, Arc<Vec<u8>>>>,
    max_chunks: usize,
}

impl ContentCache {
    pub(super) fn new(bytes: usize) -> Self {
        Self { chunks: SpinLock::new(Bounded::new()), max_chunks: bytes / CHUNK }
    }

    /// True when there is no room for any chunk.
    pub(super) fn is_off(&self) -> bool {
        self.max_chunks == 0
    }

    pub(super) fn get(&self, file: u64, chunk: u64) -> Option<Arc<Vec<u8>>> {
        self.chunks.lock().map.get(&(file, chunk)).cloned()
    }

    pub(super) fn put(&self, file: u64, chunk: u64, data: Arc<Vec<u8>>) {
        let gone = self.chunks.lock().insert((file, chunk), data, self.max_chunks);
        drop(gone);
    }

    pub(super) fn clear(&self) {
        let all = self.chunks.lock().take();
        drop(all);
    }
}
