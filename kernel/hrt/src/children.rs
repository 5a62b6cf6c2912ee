// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The joinable threads that a thread has made, for `thread_join_all`.
//!
//! The newest is in a word of its own, the others in a list through their records under the creator's lock: so a thread that
//! makes one and joins it takes no lock at all, and two threads that make many take two. Both belong to one use of the
//! creator's record; the first child of the next use starts them anew, so ending costs nothing.

use core::sync::atomic::{AtomicU64, Ordering};

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
pub(crate) struct Children {
    /// Name of the newest child, or 0. The creator sets it where it is 0, else under the lock; who takes the child's result
    /// clears it without.
    newest: AtomicU64,
    list: RwSpinLock<List>,
}

impl Children {
    pub(crate) const fn new() -> Self {
        let list = List { head: NIL, generation: u32::MAX };
        Self { newest: AtomicU64::new(0), list: RwSpinLock::new(list) }
    }
}

/// Notes a new child of `creator`, whose name the child has.
#[inline(always)]
pub(crate) fn add(creator: &'static Record, child: &Record, name: u64) {
    child.parent.store(Some(creator), Ordering::Relaxed);
    let newest = &creator.children.newest;
    if newest.load(Ordering::Relaxed) == 0 {
        newest.store(name, Ordering::Release);
    } else {
        add_to_list(creator, child, name);
    }
}

/// Moves the newest child so far to the list. That it is no more the newest and that it is on the list is one step to whoever
/// takes its result.
#[inline(never)]
fn add_to_list(creator: &Record, child: &Record, name: u64) {
    let own = creator.name();
    let mut list = creator.children.list.write();
    if list.generation != own.generation {
        *list = List { head: NIL, generation: own.generation };
    }
    let older = Name::from_word(creator.children.newest.swap(name, Ordering::AcqRel));
    child.listed.store(false, Ordering::Relaxed);
    let Some(older) = older.map(|older| record::of(older.index)) else { return };
    if older.creator.load(Ordering::Relaxed) != own.to_word() {
        // A child of an earlier use of the creator's record, which nobody here will join.
        return;
    }
    older.listed.store(true, Ordering::Relaxed);
    older.previous_sibling.store(NIL, Ordering::Relaxed);
    older.next_sibling.store(list.head, Ordering::Relaxed);
    if list.head != NIL {
        record::of(list.head).previous_sibling.store(older.index(), Ordering::Relaxed);
    }
    list.head = older.index();
}

/// Takes a child away from its creator, if that knows it still. The caller owns the child's slot; its name is the one that
/// ends with this.
#[inline(always)]
pub(crate) fn remove(child: &Record) {
    let Some(creator) = child.parent.load(Ordering::Relaxed) else { return };
    let newest = &creator.children.newest;
    if newest.compare_exchange(child.word(), 0, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        remove_from_list(child, creator);
    }
}

#[inline(never)]
fn remove_from_list(child: &Record, creator: &Record) {
    let generation = (child.creator.load(Ordering::Relaxed) >> 32) as u32;
    let mut list = creator.children.list.write();
    let listed = child.listed.load(Ordering::Relaxed);
    child.listed.store(false, Ordering::Relaxed);
    if !listed || list.generation != generation {
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

/// Whether `creator` can join a child: nobody else does, and it is its own.
fn is_joinable(creator: &Record, child: &Record) -> bool {
    let now = child.life.now();
    now.is_named()
        && !now.is_detached()
        && now.joiner().is_none_or(|joiner| joiner == creator.index())
        && child.creator.load(Ordering::Relaxed) == creator.name().to_word()
}

/// A child of `creator` that can be joined. A child that was detached stays on the list until it ends.
pub(crate) fn next(creator: &Record) -> Option<Name> {
    let newest = Name::from_word(creator.children.newest.load(Ordering::Acquire));
    if let Some(name) = newest
        && let Some(child) = record::known(name.index)
        && child.name() == name
        && is_joinable(creator, child)
    {
        return Some(name);
    }
    let list = creator.children.list.write();
    let same = list.generation == creator.name().generation;
    let mut index = if same { list.head } else { NIL };
    while let Some(child) = record::known(index) {
        if is_joinable(creator, child) {
            return Some(child.name());
        }
        index = child.next_sibling.load(Ordering::Relaxed);
    }
    None
}
