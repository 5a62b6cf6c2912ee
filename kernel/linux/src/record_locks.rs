// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Record locks (`fcntl` with `F_SETLK`): which process has which bytes of which file.
//!
//! A lock belongs to a table of descriptors, and so mostly to one process: its threads never exclude each other, a child has it
//! only if it shares the table, and it ends with the table, or as soon as a process with the table closes any descriptor of the file.
//! Locks of one owner that touch are one.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};

use hadal_hal::memory::fallible::MakeRoom;
use hadal_hal::sync::SpinLock;
use hadal_sync::{WaitMode, WaitQueue};
use hadal_vfs::{FdTable, InodeId, OpenFile};

use crate::process::Process;
use crate::task::Task;
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
    const ALL: Self = Self { first: 0, last: i64::MAX };

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
    inode: InodeId,
    pub(crate) span: Span,
    pub(crate) kind: RecordKind,
    owner: O,
    /// The process that has taken it.
    pub(crate) pid: u32,
}

/// Locks of all processes. Programs that lock many pieces of files join them soon (databases have a handful).
const MOST: usize = 1 << 13;

/// A thread that waits, its owner of locks, and one that is in its way.
#[derive(Clone, Copy)]
struct Wait<O> {
    thread: u32,
    owner: O,
    other: O,
}

struct Table<O> {
    held: Vec<Record<O>>,
    waits: Vec<Wait<O>>,
}

impl<O: Copy + PartialEq> Table<O> {
    const fn new() -> Self {
        Self { held: Vec::new(), waits: Vec::new() }
    }

    /// A lock that keeps `wanted` from being granted.
    fn in_the_way(&self, wanted: &Record<O>) -> Option<&Record<O>> {
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
    fn cut(&mut self, inode: InodeId, owner: O, span: Span) {
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
            match self.waits.iter().find(|wait| wait.owner == other) {
                Some(wait) => other = wait.other,
                None => return false,
            }
        }
        false
    }

    fn stop_waiting(&mut self, thread: u32) {
        self.waits.retain(|wait| wait.thread != thread);
    }

    /// Grants a lock to a thread's process, or notes that the thread waits: false. [`Errno::EAGAIN`] if it is not to wait,
    /// [`Errno::EDEADLK`] if it would for ever.
    fn attempt(&mut self, thread: u32, wanted: Record<O>, waits: bool) -> Result<bool> {
        self.stop_waiting(thread);
        let Some(other) = self.in_the_way(&wanted).map(|record| record.owner) else {
            self.make_room()?;
            self.grant(wanted);
            return Ok(true);
        };
        if !waits {
            return Err(Errno::EAGAIN);
        }
        if self.is_deadlock(wanted.owner, other) {
            return Err(Errno::EDEADLK);
        }
        self.waits.make_room(1).map_err(|_| Errno::ENOLCK)?;
        self.waits.push(Wait { thread, owner: wanted.owner, other });
        Ok(false)
    }
}

/// The address of a table of descriptors, which is not used again as long as it has locks.
type Owner = usize;

fn owner(files: &FdTable) -> Owner {
    core::ptr::from_ref(files).addr()
}

static TABLE: SpinLock<Table<Owner>> = SpinLock::new(Table::new());
static CHANGED: WaitQueue = WaitQueue::new();
/// Locks that are held, so that who closes a file while there is none need not look.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// Changes the table, and lets those look again who wait if it says that locks have changed.
fn change<T>(act: impl FnOnce(&mut Table<Owner>) -> (T, bool)) -> T {
    let (result, wakes) = {
        let mut table = TABLE.lock();
        let (result, has_changed) = act(&mut table);
        HELD.store(table.held.len(), Ordering::SeqCst);
        (result, has_changed && !table.waits.is_empty())
    };
    if wakes {
        CHANGED.wake_all();
    }
    result
}

fn record(process: &Process, inode: InodeId, span: Span, kind: RecordKind) -> Record<Owner> {
    Record { inode, span, kind, owner: owner(&process.files()), pid: process.pid() }
}

/// A lock that keeps the process from having the bytes (`F_GETLK`).
pub(crate) fn in_the_way(
    process: &Process,
    inode: InodeId,
    span: Span,
    kind: RecordKind,
) -> Option<Record<Owner>> {
    let wanted = record(process, inode, span, kind);
    TABLE.lock().in_the_way(&wanted).copied()
}

/// Takes a lock, at once or, if it `waits`, when nothing is in the way any more.
pub(crate) fn lock(
    process: &Process,
    inode: InodeId,
    span: Span,
    kind: RecordKind,
    waits: bool,
) -> Result<()> {
    let wanted = record(process, inode, span, kind);
    let thread = Task::current().tid();
    let attempt = || {
        // A stronger lock may become a weaker one.
        let result = change(|table| {
            let result = table.attempt(thread, wanted, waits);
            (result, result == Ok(true))
        });
        if result == Ok(false) { None } else { Some(result.map(|_| ())) }
    };
    let result = CHANGED.wait_until(None, WaitMode::Interruptible, attempt);
    if result.is_err() {
        change(|table| (table.stop_waiting(thread), false));
    }
    result?
}

/// Gives up what the process has of these bytes.
pub(crate) fn unlock(process: &Process, inode: InodeId, span: Span) -> Result<()> {
    change(|table| {
        // For the rest of a lock that is cut in two.
        let room = table.held.make_room(1).map_err(|_| Errno::ENOLCK);
        if room.is_ok() {
            table.cut(inode, owner(&process.files()), span);
        }
        (room, room.is_ok())
    })
}

/// The process closes, or has closed, a descriptor of a file; one of `O_PATH` does not count.
#[inline]
pub(crate) fn closing(process: &Process, file: &OpenFile) {
    if HELD.load(Ordering::Relaxed) > 0 && file.file().is_ok() {
        let owner = owner(&process.files());
        change(|table| (table.cut(file.inode().identity(), owner, Span::ALL), true));
    }
}

/// No process has the files any more, which are to be closed.
pub(crate) fn end(files: &FdTable) {
    if HELD.load(Ordering::Relaxed) > 0 {
        change(|table| (table.held.retain(|held| held.owner != owner(files)), true));
    }
}

/// The process is going to close descriptors, those among `all` of which `closes` is true: it loses the locks of their files.
pub(crate) fn closing_some(process: &Process, all: impl Iterator<Item = i32>, closes: impl Fn(i32) -> bool) {
    if HELD.load(Ordering::Relaxed) == 0 {
        return;
    }
    for file in all.filter(|&fd| closes(fd)).filter_map(|fd| process.files().get(fd).ok()) {
        closing(process, &file);
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
        Record { inode: FILE, span: span(first, last), kind, owner, pid: owner }
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
        let by = |pid, first, last, kind| Record { pid, ..wanted(1, first, last, kind) };
        for lock in [by(1, 10, 19, Shared), by(2, 30, 39, Shared), by(3, 15, 34, Shared)] {
            assert_eq!(table.attempt(1, lock, false), Ok(true));
        }
        assert_eq!(spans(&table, 1), [(10, 39, Shared)]);
        assert_eq!(table.in_the_way(&wanted(2, 0, 99, Exclusive)).map(|held| held.pid), Some(1));
        assert_eq!(table.attempt(1, by(4, 10, 39, Exclusive), false), Ok(true));
        assert_eq!(table.held[0].pid, 4);
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
        assert!(table.waits.iter().all(|wait| wait.owner == 1));
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
