// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which owner has which bytes of which file, and who waits for whom. Locks of one owner that touch are one.

use alloc::vec::Vec;

use hadal_hal::memory::fallible::MakeRoom;
use hadal_vfs::InodeId;

use crate::{Errno, Result};

/// Who may have the bytes beside the owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordKind {
    /// Those who read (`F_RDLCK`).
    Shared,
    /// Nobody (`F_WRLCK`).
    Exclusive,
}

/// Bytes of a file, as many as offsets can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) first: i64,
    /// `i64::MAX`: to the end, wherever it is.
    pub(crate) last: i64,
}

impl Span {
    pub(super) const ALL: Self = Self { first: 0, last: i64::MAX };

    fn meets(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// Whether both are one without a gap.
    fn touches(self, other: Self) -> bool {
        self.first <= other.last.saturating_add(1) && other.first <= self.last.saturating_add(1)
    }
}

/// A lock; `O` names its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<O> {
    pub(super) inode: InodeId,
    pub(crate) span: Span,
    pub(crate) kind: RecordKind,
    pub(super) owner: O,
    /// The process that has taken it; none for one that is an open file's.
    pub(crate) pid: Option<u32>,
}

/// Locks of all processes. Programs that lock many pieces of files join them soon (databases have a handful).
const MOST: usize = 1 << 13;

/// A thread that waits, its owner of locks, and one that is in its way.
#[derive(Clone, Copy)]
pub(super) struct Wait<O> {
    thread: u32,
    /// None if it waits for an open file: nobody knows who else has that, and could give up its locks meanwhile.
    owner: Option<O>,
    other: O,
}

pub(super) struct Table<O> {
    pub(super) held: Vec<Record<O>>,
    pub(super) waits: Vec<Wait<O>>,
}

impl<O: Copy + PartialEq> Table<O> {
    pub(super) const fn new() -> Self {
        Self { held: Vec::new(), waits: Vec::new() }
    }

    /// A lock that keeps `wanted` from being granted.
    pub(super) fn in_the_way(&self, wanted: &Record<O>) -> Option<&Record<O>> {
        let is_exclusive = |record: &Record<O>| record.kind == RecordKind::Exclusive;
        self.held.iter().find(|held| {
            held.inode == wanted.inode
                && held.owner != wanted.owner
                && held.span.meets(wanted.span)
                && (is_exclusive(held) || is_exclusive(wanted))
        })
    }

    /// Room for what a change may add: the rest of a lock that is cut in two, and a new one.
    fn make_room(&mut self) -> Result<()> {
        if self.held.len() + 2 > MOST {
            return Err(Errno::ENOLCK);
        }
        self.held.make_room(2).map_err(|_| Errno::ENOLCK)
    }

    /// Takes the owner's locks off a part of a file; there is room.
    pub(super) fn cut(&mut self, inode: InodeId, owner: O, span: Span) {
        let mut rest = None;
        self.held.retain_mut(|held| {
            if held.inode != inode || held.owner != owner || !held.span.meets(span) {
                return true;
            }
            let (before, behind) = (held.span.first < span.first, held.span.last > span.last);
            if before && behind {
                // Only one lock of an owner can reach beyond on both sides.
                rest = Some(Record { span: Span { first: span.last + 1, ..held.span }, ..*held });
            }
            match (before, behind) {
                (true, _) => held.span.last = span.first - 1,
                (false, true) => held.span.first = span.last + 1,
                (false, false) => return false,
            }
            true
        });
        self.held.extend(rest);
    }

    /// Grants a lock that nothing is in the way of; there is room.
    fn grant(&mut self, mut wanted: Record<O>) {
        let joins = move |held: &Record<O>| {
            (held.inode, held.owner, held.kind) == (wanted.inode, wanted.owner, wanted.kind)
                && held.span.touches(wanted.span)
        };
        // As on Linux it is the first one that grows.
        let first = self.held.iter().filter(|held| joins(held)).min_by_key(|held| held.span.first);
        wanted.pid = first.map_or(wanted.pid, |held| held.pid);
        self.cut(wanted.inode, wanted.owner, wanted.span);
        self.held.retain(|held| {
            let joins = joins(held);
            if joins {
                wanted.span.first = wanted.span.first.min(held.span.first);
                wanted.span.last = wanted.span.last.max(held.span.last);
            }
            !joins
        });
        self.held.push(wanted);
    }

    /// Whether `owner` would wait for itself if it waited for `other`. Looks along so many waits as Linux does: the table is locked,
    /// and a program chooses how long a chain is.
    fn is_deadlock(&self, owner: O, mut other: O) -> bool {
        const MOST_WAITS: usize = 10;
        for _ in 0..MOST_WAITS {
            if other == owner {
                return true;
            }
            match self.waits.iter().find(|wait| wait.owner == Some(other)) {
                Some(wait) => other = wait.other,
                None => return false,
            }
        }
        false
    }

    pub(super) fn stop_waiting(&mut self, thread: u32) {
        self.waits.retain(|wait| wait.thread != thread);
    }

    /// Grants a lock to a thread's process, or notes that the thread waits: false. [`Errno::EAGAIN`] if it is not to wait,
    /// [`Errno::EDEADLK`] if it would for ever.
    pub(super) fn attempt(&mut self, thread: u32, wanted: Record<O>, waits: bool) -> Result<bool> {
        self.stop_waiting(thread);
        let Some(other) = self.in_the_way(&wanted).map(|record| record.owner) else {
            self.make_room()?;
            self.grant(wanted);
            return Ok(true);
        };
        if !waits {
            return Err(Errno::EAGAIN);
        }
        let owner = wanted.pid.map(|_| wanted.owner);
        if owner.is_some_and(|owner| self.is_deadlock(owner, other)) {
            return Err(Errno::EDEADLK);
        }
        self.waits.make_room(1).map_err(|_| Errno::ENOLCK)?;
        self.waits.push(Wait { thread, owner, other });
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: InodeId = InodeId { dev: 1, ino: 2 };

    fn span(first: i64, last: i64) -> Span {
        Span { first, last }
    }

    fn wanted(owner: u32, first: i64, last: i64, kind: RecordKind) -> Record<u32> {
        Record { inode: FILE, span: span(first, last), kind, owner, pid: Some(owner) }
    }

    fn attempt(table: &mut Table<u32>, wanted: Record<u32>, waits: bool) -> Result<bool> {
        table.attempt(wanted.owner, wanted, waits)
    }

    fn spans(table: &Table<u32>, owner: u32) -> Vec<(i64, i64, RecordKind)> {
        let of_owner = table.held.iter().filter(|held| held.owner == owner);
        let mut spans: Vec<_> = of_owner.map(|held| (held.span.first, held.span.last, held.kind)).collect();
        spans.sort_by_key(|&(first, ..)| first);
        spans
    }

    use RecordKind::{Exclusive, Shared};

    #[test]
    fn processes_exclude_each_other() {
        let mut table = Table::new();
        assert_eq!(attempt(&mut table, wanted(1, 0, 9, Exclusive), false), Ok(true));
        assert_eq!(attempt(&mut table, wanted(2, 9, 9, Shared), false), Err(Errno::EAGAIN));
        assert_eq!(attempt(&mut table, wanted(2, 10, 19, Shared), false), Ok(true));
        assert_eq!(attempt(&mut table, wanted(1, 10, 12, Shared), false), Ok(true));
        assert_eq!(attempt(&mut table, wanted(1, 10, 12, Exclusive), false), Err(Errno::EAGAIN));
        assert_eq!(table.in_the_way(&wanted(3, 5, 30, Shared)).map(|record| record.owner), Some(1));
        table.cut(FILE, 1, Span::ALL);
        assert_eq!(table.in_the_way(&wanted(3, 5, 30, Shared)), None);
    }

    #[test]
    fn locks_are_cut_and_joined() {
        let mut table = Table::new();
        assert_eq!(attempt(&mut table, wanted(1, 0, 99, Shared), false), Ok(true));
        assert_eq!(attempt(&mut table, wanted(1, 40, 49, Exclusive), false), Ok(true));
        assert_eq!(spans(&table, 1), [(0, 39, Shared), (40, 49, Exclusive), (50, 99, Shared)]);
        table.cut(FILE, 1, span(10, 19));
        assert_eq!(
            spans(&table, 1),
            [(0, 9, Shared), (20, 39, Shared), (40, 49, Exclusive), (50, 99, Shared)]
        );
        assert_eq!(attempt(&mut table, wanted(1, 10, 60, Shared), false), Ok(true));
        assert_eq!(spans(&table, 1), [(0, 99, Shared)]);
        assert_eq!(attempt(&mut table, wanted(1, 100, i64::MAX, Shared), false), Ok(true));
        assert_eq!(spans(&table, 1), [(0, i64::MAX, Shared)]);
        table.cut(FILE, 1, span(5, i64::MAX));
        assert_eq!(spans(&table, 1), [(0, 4, Shared)]);
    }

    #[test]
    fn a_lock_that_grows_stays_that_of_who_took_it_first() {
        let mut table = Table::new();
        let by = |pid, first, last, kind| Record { pid: Some(pid), ..wanted(1, first, last, kind) };
        for lock in [by(1, 10, 19, Shared), by(2, 30, 39, Shared), by(3, 15, 34, Shared)] {
            assert_eq!(table.attempt(1, lock, false), Ok(true));
        }
        assert_eq!(spans(&table, 1), [(10, 39, Shared)]);
        assert_eq!(table.in_the_way(&wanted(2, 0, 99, Exclusive)).and_then(|held| held.pid), Some(1));
        assert_eq!(table.attempt(1, by(4, 10, 39, Exclusive), false), Ok(true));
        assert_eq!(table.held[0].pid, Some(4));
    }

    #[test]
    fn who_would_wait_for_ever_is_told() {
        let mut table = Table::new();
        for owner in 1..=3 {
            let own = i64::from(owner);
            assert_eq!(attempt(&mut table, wanted(owner, own, own, Exclusive), true), Ok(true));
        }
        assert_eq!(attempt(&mut table, wanted(1, 2, 2, Exclusive), true), Ok(false));
        assert_eq!(attempt(&mut table, wanted(2, 3, 3, Shared), true), Ok(false));
        assert_eq!(attempt(&mut table, wanted(3, 1, 1, Exclusive), true), Err(Errno::EDEADLK));
        table.cut(FILE, 3, Span::ALL);
        assert_eq!(attempt(&mut table, wanted(2, 3, 3, Shared), true), Ok(true));
        assert!(table.waits.iter().all(|wait| wait.owner == Some(1)));
    }

    #[test]
    fn open_files_wait_for_ever() {
        let mut table = Table::new();
        let of_file = |owner, at| Record { pid: None, ..wanted(owner, at, at, Exclusive) };
        assert_eq!(attempt(&mut table, of_file(1, 1), true), Ok(true));
        assert_eq!(attempt(&mut table, of_file(2, 2), true), Ok(true));
        assert_eq!(attempt(&mut table, wanted(3, 3, 3, Exclusive), true), Ok(true));
        assert_eq!(attempt(&mut table, of_file(1, 2), true), Ok(false));
        assert_eq!(attempt(&mut table, of_file(2, 1), true), Ok(false));
        // Nor does a process hear that it waits for one that waits for it.
        assert_eq!(table.attempt(4, of_file(1, 3), true), Ok(false));
        assert_eq!(attempt(&mut table, wanted(3, 1, 1, Exclusive), true), Ok(false));
    }

    #[test]
    fn their_number_is_bounded() {
        let mut table = Table::new();
        for at in 0..MOST as i64 - 1 {
            assert_eq!(attempt(&mut table, wanted(1, 2 * at, 2 * at, Shared), false), Ok(true));
        }
        assert_eq!(attempt(&mut table, wanted(1, -2, -2, Shared), false), Err(Errno::ENOLCK));
    }
}
