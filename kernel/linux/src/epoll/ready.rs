// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The entries of one epoll instance by number, and the list of those that may be ready, in the order in which they became so.
//!
//! The list is linked through the table, so putting an entry on it needs no memory and taking it off takes constant time:
//! whoever announces a change may be an interrupt handler.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ptr;

use hadal_hal::memory::fallible::MakeRoom;

use super::entry::Entry;
use crate::{Errno, Result};

/// No entry.
const NONE: u32 = u32::MAX;

/// A place in the table.
struct Node {
    /// `None` while the place is free.
    entry: Option<Arc<Entry>>,
    queued: bool,
    previous: u32,
    /// The next on the list, or the next free place.
    next: u32,
}

/// The table and the list.
pub(super) struct ReadyList {
    nodes: Vec<Node>,
    free: u32,
    first: u32,
    last: u32,
    len: usize,
}

impl ReadyList {
    pub(super) const fn new() -> Self {
        Self { nodes: Vec::new(), free: NONE, first: NONE, last: NONE, len: 0 }
    }

    /// Takes a place for an entry; `ENOMEM` when there is no memory for it.
    pub(super) fn reserve(&mut self) -> Result<u32> {
        if self.free != NONE {
            let slot = self.free;
            self.free = self.nodes[slot as usize].next;
            return Ok(slot);
        }
        let slot = u32::try_from(self.nodes.len()).ok().filter(|&slot| slot != NONE).ok_or(Errno::ENOSPC)?;
        self.nodes.make_room(1).map_err(|_| Errno::ENOMEM)?;
        self.nodes.push(Node { entry: None, queued: false, previous: NONE, next: NONE });
        Ok(slot)
    }

    /// Fills a reserved place.
    pub(super) fn place(&mut self, slot: u32, entry: Arc<Entry>) {
        self.nodes[slot as usize].entry = Some(entry);
    }

    /// Frees an entry's place and takes it off the list; returns the entry, to be dropped outside the lock, if it was there.
    pub(super) fn remove(&mut self, slot: u32, entry: &Entry) -> Option<Arc<Entry>> {
        if !self.holds(slot, entry) {
            return None;
        }
        self.unlink(slot);
        let node = &mut self.nodes[slot as usize];
        node.next = self.free;
        self.free = slot;
        node.entry.take()
    }

    fn holds(&self, slot: u32, entry: &Entry) -> bool {
        let node = self.nodes.get(slot as usize).and_then(|node| node.entry.as_ref());
        node.is_some_and(|held| ptr::eq(Arc::as_ptr(held), entry))
    }

    /// Puts an entry at the end of the list, if it is not on it and still in the table.
    pub(super) fn push(&mut self, slot: u32, entry: &Entry) {
        if !self.holds(slot, entry) || self.nodes[slot as usize].queued {
            return;
        }
        let last = core::mem::replace(&mut self.last, slot);
        let node = &mut self.nodes[slot as usize];
        (node.queued, node.previous, node.next) = (true, last, NONE);
        match self.nodes.get_mut(last as usize) {
            Some(last) => last.next = slot,
            None => self.first = slot,
        }
        self.len += 1;
    }

    /// Puts an entry at the head of the list, under the same conditions.
    pub(super) fn push_front(&mut self, slot: u32, entry: &Entry) {
        if !self.holds(slot, entry) || self.nodes[slot as usize].queued {
            return;
        }
        let first = core::mem::replace(&mut self.first, slot);
        let node = &mut self.nodes[slot as usize];
        (node.queued, node.previous, node.next) = (true, NONE, first);
        match self.nodes.get_mut(first as usize) {
            Some(first) => first.previous = slot,
            None => self.last = slot,
        }
        self.len += 1;
    }

    /// The entry at the head of the list.
    pub(super) fn first(&self) -> Option<Arc<Entry>> {
        self.nodes.get(self.first as usize)?.entry.clone()
    }

    /// Takes an entry off the list, if it is on it.
    pub(super) fn take(&mut self, slot: u32, entry: &Entry) {
        if self.holds(slot, entry) {
            self.unlink(slot);
        }
    }

    /// Takes the entry at the head off the list.
    pub(super) fn pop(&mut self) -> Option<Arc<Entry>> {
        let entry = self.first()?;
        self.unlink(self.first);
        Some(entry)
    }

    fn unlink(&mut self, slot: u32) {
        let node = &mut self.nodes[slot as usize];
        if !core::mem::take(&mut node.queued) {
            return;
        }
        let (previous, next) = (node.previous, node.next);
        match self.nodes.get_mut(previous as usize) {
            Some(previous) => previous.next = next,
            None => self.first = next,
        }
        match self.nodes.get_mut(next as usize) {
            Some(next) => next.previous = previous,
            None => self.last = previous,
        }
        self.len -= 1;
    }

    /// Entries on the list.
    pub(super) fn len(&self) -> usize {
        self.len
    }
}
