// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whole-file locks (`flock`): who holds which.
//!
//! A lock belongs to an open file description and ends with it, so two descriptions of one file exclude each other even
//! in one program. The table knows the descriptions weakly: one that is gone holds nothing. How it goes does not matter (it may be
//! closed, or go with its process, or with a message that nobody receives), so the description itself tells it.

use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};

use hadal_hal::memory::fallible::{self, MakeRoom};
use hadal_hal::sync::SpinLock;
use hadal_sync::{WaitMode, WaitQueue};
use hadal_vfs::{InodeId, OpenFile, Watcher};
use spin::Once;

use crate::{Errno, Result};

/// The two kinds of locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockKind {
    /// Any number of holders.
    Shared,
    /// One holder.
    Exclusive,
}

struct Held<T> {
    inode: InodeId,
    owner: Weak<T>,
    kind: LockKind,
}

/// Who holds what; `T` is the description.
struct Table<T> {
    held: Vec<Held<T>>,
}

impl<T> Table<T> {
    const fn new() -> Self {
        Self { held: Vec::new() }
    }

    /// Takes a lock unless somebody else's is in the way. A lock that `owner` has already is given up first, as on Linux.
    fn try_lock(&mut self, inode: InodeId, owner: &Arc<T>, kind: LockKind) -> Result<bool> {
        self.held.make_room(1).map_err(|_| Errno::ENOLCK)?;
        self.unlock(Arc::as_ptr(owner));
        self.held.retain(|held| held.owner.strong_count() > 0);
        let free = !self.held.iter().any(|held| {
            held.inode == inode && (kind == LockKind::Exclusive || held.kind == LockKind::Exclusive)
        });
        if free {
            self.held.push(Held { inode, owner: Arc::downgrade(owner), kind });
        }
        Ok(free)
    }

    fn unlock(&mut self, owner: *const T) {
        self.held.retain(|held| held.owner.as_ptr() != owner);
    }
}

static TABLE: SpinLock<Table<OpenFile>> = SpinLock::new(Table::new());
static CHANGED: WaitQueue = WaitQueue::new();
/// Threads that wait for a lock.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// Hears of descriptions that are gone.
struct Keeper;

impl Watcher for Keeper {
    fn closed(self: Arc<Self>, file: &OpenFile) {
        TABLE.lock().unlock(file);
        if WAITING.load(Ordering::SeqCst) > 0 {
            CHANGED.wake_all();
        }
    }
}

/// Makes sure that the end of a description is heard of.
fn watch(file: &OpenFile) -> Result<()> {
    static KEEPER: Once<Arc<dyn Watcher>> = Once::new();
    let keeper = KEEPER.try_call_once(|| fallible::arc(Keeper).map(|keeper| -> Arc<dyn Watcher> { keeper }));
    let keeper = keeper.map_err(|_| Errno::ENOLCK)?;
    // Once is enough, however often it is locked.
    file.unwatch(keeper);
    file.watch(keeper.clone()).map_err(|_| Errno::ENOLCK)
}

/// Takes a lock if it is free.
pub(crate) fn try_lock(file: &Arc<OpenFile>, kind: LockKind) -> Result<bool> {
    watch(file)?;
    let taken = TABLE.lock().try_lock(file.inode().identity(), file, kind);
    // A stronger lock may have become a weaker one.
    CHANGED.wake_all();
    taken
}

/// Waits for a lock and takes it.
pub(crate) fn lock(file: &Arc<OpenFile>, kind: LockKind) -> Result<()> {
    if try_lock(file, kind)? {
        return Ok(());
    }
    let inode = file.inode().identity();
    WAITING.fetch_add(1, Ordering::SeqCst);
    let attempt = || match TABLE.lock().try_lock(inode, file, kind) {
        Ok(false) => None,
        result => Some(result.map(|_| ())),
    };
    let result = CHANGED.wait_until(None, WaitMode::Interruptible, attempt);
    WAITING.fetch_sub(1, Ordering::SeqCst);
    result?
}

/// Gives up the lock of an open file, if it has one.
pub(crate) fn unlock(file: &Arc<OpenFile>) {
    TABLE.lock().unlock(Arc::as_ptr(file));
    CHANGED.wake_all();
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: InodeId = InodeId { dev: 1, ino: 2 };
    const OTHER: InodeId = InodeId { dev: 1, ino: 3 };

    #[test]
    fn exclusive_locks_exclude() {
        let mut table = Table::new();
        let (a, b) = (Arc::new(()), Arc::new(()));
        assert_eq!(table.try_lock(FILE, &a, LockKind::Exclusive), Ok(true));
        assert_eq!(table.try_lock(FILE, &b, LockKind::Shared), Ok(false));
        assert_eq!(table.try_lock(OTHER, &b, LockKind::Exclusive), Ok(true));
        table.unlock(Arc::as_ptr(&a));
        assert_eq!(table.try_lock(FILE, &b, LockKind::Exclusive), Ok(true));
        drop(b);
        assert_eq!(
            table.try_lock(FILE, &a, LockKind::Exclusive),
            Ok(true),
            "a lock ends with its description"
        );
    }

    #[test]
    fn shared_locks_share_and_convert() {
        let mut table = Table::new();
        let (a, b) = (Arc::new(()), Arc::new(()));
        assert_eq!(table.try_lock(FILE, &a, LockKind::Shared), Ok(true));
        assert_eq!(table.try_lock(FILE, &b, LockKind::Shared), Ok(true));
        assert_eq!(table.try_lock(FILE, &a, LockKind::Exclusive), Ok(false));
        table.unlock(Arc::as_ptr(&b));
        assert_eq!(table.try_lock(FILE, &a, LockKind::Exclusive), Ok(true));
        assert_eq!(table.try_lock(FILE, &a, LockKind::Shared), Ok(true));
        assert_eq!(table.try_lock(FILE, &b, LockKind::Shared), Ok(true));
    }
}
