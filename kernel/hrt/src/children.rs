// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The joinable threads that a thread has made, for `thread_join_all`.
//!
//! A list through the children's records, guarded by the creator's own lock: two threads that create take two locks. It
//! belongs to one use of the creator's record; the first child of the next use starts it anew, so ending costs nothing.

use core::sync::atomic::Ordering;

use hadal_hal::sync::RwSpinLock;

use crate::life::Name;
use crate::record::{self, Record};

const NIL: u32 = u32::MAX;

struct List {
    head: u32,
    /// Of the creator's name.
    generation: u32,
}

/// The children of one thread. The lock is taken in thread context only, so it leaves interrupts alone.
pub(crate) struct Children(RwSpinLock<List>);

impl Children {
    pub(crate) const fn new() -> Self {
        Self(RwSpinLock::new(List { head: NIL, generation: u32::MAX }))
    }
}

/// Notes a new child of `creator`, whose name the child has.
#[inline]
pub(crate) fn add(creator: &Record, child: &Record) {
    let name = creator.name();
    child.listed.store(true, Ordering::Relaxed);
    let mut list = creator.children.0.write();
    if list.generation != name.generation {
        *list = List { head: NIL, generation: name.generation };
    }
    child.previous_sibling.store(NIL, Ordering::Relaxed);
    child.next_sibling.store(list.head, Ordering::Relaxed);
    if list.head != NIL {
        record::of(list.head).previous_sibling.store(child.index(), Ordering::Relaxed);
    }
    list.head = child.index();
}

/// Takes a child off its creator's list, if that still exists. The caller owns the child's slot.
#[inline]
pub(crate) fn remove(child: &Record) {
    if !child.listed.load(Ordering::Relaxed) {
        return;
    }
    child.listed.store(false, Ordering::Relaxed);
    let Some(name) = Name::from_word(child.creator.load(Ordering::Relaxed)) else { return };
    let creator = record::of(name.index);
    let mut list = creator.children.0.write();
    if list.generation != name.generation {
        return;
    }
    let next = child.next_sibling.load(Ordering::Relaxed);
    let previous = child.previous_sibling.load(Ordering::Relaxed);
    if next != NIL {
        record::of(next).previous_sibling.store(previous, Ordering::Relaxed);
    }
    match previous {
        NIL => list.head = next,
        previous => record::of(previous).next_sibling.store(next, Ordering::Relaxed),
    }
}

/// A child of `creator` that can be joined. A child that was detached stays on the list until it ends.
pub(crate) fn next(creator: &Record) -> Option<Name> {
    let generation = creator.name().generation;
    let list = creator.children.0.write();
    let mut index = if list.generation == generation { list.head } else { NIL };
    while let Some(child) = record::known(index) {
        let now = child.life.now();
        if now.is_named() && !now.is_detached() && now.joiner().is_none_or(|joiner| joiner == creator.index())
        {
            return Some(child.name());
        }
        index = child.next_sibling.load(Ordering::Relaxed);
    }
    None
}
