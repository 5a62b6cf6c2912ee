// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whole-file locks (`flock`): who holds which.
//!
//! A lock belongs to an open file description and ends with it, so two descriptions of one file exclude each other even
//! in one program. The table knows the descriptions weakly: one that is gone holds nothing.

use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};

use hadal_hal::sync::SpinLock;
use hadal_sync::{WaitMode, WaitQueue};
use hadal_vfs::{InodeId, OpenFile};

use crate::Result;

/// The two kinds of locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockKind {
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
    fn try_lock(&mut self, inode: InodeId, owner: &Arc<T>, kind: LockKind) -> bool {
        self.unlock(owner);
        self.held.retain(|held| held.owner.strong_count() > 0);
        let free = !self.held.iter().any(|held| {
            held.inode == inode && (kind == LockKind::Exclusive || held.kind == LockKind::Exclusive)
        });
        if free {
            self.held.push(Held { inode, owner: Arc::downgrade(owner), kind });
        }
        free
    }

    fn unlock(&mut self, owner: &Arc<T>) {
        self.held.retain(|held| held.owner.as_ptr() != Arc::as_ptr(owner));
    }
}

static TABLE: SpinLock<Table<OpenFile>> = SpinLock::new(Table::new());
static CHANGED: WaitQueue = WaitQueue::new();
/// Threads that wait for a lock.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// Takes a lock if it is free.
pub(super) fn try_lock(file: &Arc<OpenFile>, kind: LockKind) -> bool {
    let taken = TABLE.lock().try_lock(file.inode().identity(), file, kind);
    // A stronger lock may have become a weaker one.
    CHANGED.wake_all();
    taken
}

/// Waits for a lock and takes it.
pub(super) fn lock(file: &Arc<OpenFile>, kind: LockKind) -> Result<()> {
    if try_lock(file, kind) {
        return Ok(());
    }
    let inode = file.inode().identity();
    WAITING.fetch_add(1, Ordering::SeqCst);
    let attempt = || TABLE.lock().try_lock(inode, file, kind).then_some(());
    let result = CHANGED.wait_until(None, WaitMode::Interruptible, attempt);
    WAITING.fetch_sub(1, Ordering::SeqCst);
    Ok(result?)
}

/// Gives up the lock of an open file, if it has one.
pub(super) fn unlock(file: &Arc<OpenFile>) {
    TABLE.lock().unlock(file);
    CHANGED.wake_all();
}

/// To be called when descriptors were closed: an open file that is gone may have held what others wait for.
pub(super) fn after_close() {
    if WAITING.load(Ordering::SeqCst) > 0 {
        CHANGED.wake_all();
    }
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
        assert!(table.try_lock(FILE, &a, LockKind::Exclusive));
        assert!(!table.try_lock(FILE, &b, LockKind::Shared));
        assert!(table.try_lock(OTHER, &b, LockKind::Exclusive));
        table.unlock(&a);
        assert!(table.try_lock(FILE, &b, LockKind::Exclusive));
        drop(b);
        assert!(table.try_lock(FILE, &a, LockKind::Exclusive), "a lock ends with its description");
    }

    #[test]
    fn shared_locks_share_and_convert() {
        let mut table = Table::new();
        let (a, b) = (Arc::new(()), Arc::new(()));
        assert!(table.try_lock(FILE, &a, LockKind::Shared));
        assert!(table.try_lock(FILE, &b, LockKind::Shared));
        assert!(!table.try_lock(FILE, &a, LockKind::Exclusive));
        table.unlock(&b);
        assert!(table.try_lock(FILE, &a, LockKind::Exclusive));
        assert!(table.try_lock(FILE, &a, LockKind::Shared));
        assert!(table.try_lock(FILE, &b, LockKind::Shared));
    }
}
