// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Record locks (`fcntl` with `F_SETLK` and `F_OFD_SETLK`): who has which bytes of which file.
//!
//! A lock belongs to a table of descriptors, and so mostly to one process: its threads never exclude each other, a child has it
//! only if it shares the table, and it ends with the table, or as soon as a process with the table closes any descriptor of the file.
//! Or it belongs to an open file, and ends with that: processes that have it do not exclude each other, and one process can exclude
//! itself from what it opens twice.

mod holder;
mod table;

use core::sync::atomic::{AtomicUsize, Ordering};

use hadal_hal::memory::fallible::MakeRoom;
use hadal_hal::sync::SpinLock;
use hadal_sync::{WaitMode, WaitQueue};
use hadal_vfs::{FdTable, InodeId, OpenFile};

use crate::process::Process;
use crate::task::Task;
use crate::{Errno, Result};
pub(crate) use holder::Holder;
use holder::Owner;
use table::Table;
pub(crate) use table::{Record, RecordKind, Span};

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

fn record(holder: Holder, inode: InodeId, span: Span, kind: RecordKind) -> Record<Owner> {
    Record { inode, span, kind, owner: holder.owner, pid: holder.pid }
}

/// A lock that keeps somebody from having the bytes (`F_GETLK`).
pub(crate) fn in_the_way(
    holder: Holder,
    inode: InodeId,
    span: Span,
    kind: RecordKind,
) -> Option<Record<Owner>> {
    let wanted = record(holder, inode, span, kind);
    TABLE.lock().in_the_way(&wanted).copied()
}

/// Takes a lock, at once or, if it `waits`, when nothing is in the way any more.
pub(crate) fn lock(holder: Holder, inode: InodeId, span: Span, kind: RecordKind, waits: bool) -> Result<()> {
    let wanted = record(holder, inode, span, kind);
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

/// Gives up what somebody has of these bytes.
pub(crate) fn unlock(holder: Holder, inode: InodeId, span: Span) -> Result<()> {
    change(|table| {
        // For the rest of a lock that is cut in two.
        let room = table.held.make_room(1).map_err(|_| Errno::ENOLCK);
        if room.is_ok() {
            table.cut(inode, holder.owner, span);
        }
        (room, room.is_ok())
    })
}

/// The process closes, or has closed, a descriptor of a file; one of `O_PATH` does not count.
#[inline]
pub(crate) fn closing(process: &Process, file: &OpenFile) {
    if HELD.load(Ordering::Relaxed) > 0 && file.file().is_ok() {
        let owner = Owner::of_files(&process.files());
        change(|table| (table.cut(file.inode().identity(), owner, Span::ALL), true));
    }
}

/// No process has the files any more, which are to be closed.
pub(crate) fn end(files: &FdTable) {
    end_of(Owner::of_files(files));
}

/// An owner has no locks any more.
fn end_of(owner: Owner) {
    if HELD.load(Ordering::Relaxed) > 0 {
        change(|table| (table.held.retain(|held| held.owner != owner), true));
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
