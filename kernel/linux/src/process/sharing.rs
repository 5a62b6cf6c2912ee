// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a process has alone or together with others: its open files, and where its paths start (`CLONE_FILES`, `CLONE_FS`). Signal
//! actions, which may be shared, too, are in [`signal`](crate::signal).

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};

use hadal_hal::memory::fallible;
use hadal_hal::sync::{Rank, SpinLock};
use hadal_vfs::{Descriptors, FdTable, Location, OpenFile};

use super::Process;
use crate::shared::{Part, Stock};
use crate::{Result, mqueue, record_locks};

/// Where paths start, and what new files are not allowed.
pub(super) struct Paths {
    /// The working directory; none where there is no process.
    cwd: SpinLock<Option<Arc<Location>>>,
    /// File mode creation mask.
    umask: AtomicU32,
}

impl Paths {
    const fn new() -> Self {
        Self { cwd: SpinLock::ranked(Rank::Process, None), umask: AtomicU32::new(0) }
    }

    fn change_directory(&self, location: Option<Arc<Location>>) {
        let previous = core::mem::replace(&mut *self.cwd.lock(), location);
        drop(previous);
    }

    /// Becomes a copy of others.
    pub(super) fn take_over(&self, other: &Self) -> Result<()> {
        let cwd = other.cwd.lock().clone();
        self.change_directory(cwd);
        self.umask.store(other.umask.load(Ordering::Relaxed), Ordering::Relaxed);
        Ok(())
    }
}

impl Part for Paths {
    fn new() -> Self {
        Self::new()
    }

    fn end(&self) {
        self.change_directory(None);
    }

    fn stock() -> &'static Stock<Self> {
        static STOCK: Stock<Paths> = Stock::new(Paths::new());
        &STOCK
    }
}

impl Part for FdTable {
    fn new() -> Self {
        Self::new()
    }

    fn end(&self) {
        record_locks::end(self);
        self.clear();
    }

    fn stock() -> &'static Stock<Self> {
        static STOCK: Stock<FdTable> = Stock::new(FdTable::new());
        &STOCK
    }
}

impl Process {
    /// Gives the machine's program what it begins with.
    pub(super) fn begin_first(
        &self,
        cwd: Location,
        umask: u32,
        files: Vec<(i32, Arc<OpenFile>)>,
    ) -> Result<()> {
        self.signals.begin()?;
        self.paths.begin()?.change_directory(Some(fallible::arc(cwd)?));
        self.set_umask(umask);
        self.files.begin()?;
        for (fd, file) in files {
            self.files().replace(fd, file, false)?;
        }
        Ok(())
    }

    /// Open files, for threads of the process.
    #[inline(always)]
    pub fn files(&self) -> Descriptors<'_> {
        self.files.get().limited(&self.descriptor_limit)
    }

    /// Shows `look` the open files, for threads of other processes; perhaps several times.
    pub fn look_at_files<R>(&self, look: impl Fn(&FdTable) -> R) -> R {
        self.files.look(look)
    }

    /// The working directory, for threads of the process.
    pub fn cwd(&self) -> Arc<Location> {
        self.paths
            .get()
            .cwd
            .lock()
            .clone()
            .expect("a process has a working directory until its last thread ends")
    }

    /// The working directory, for threads of other processes; `None` if the process has ended.
    pub fn look_at_cwd(&self) -> Option<Arc<Location>> {
        self.paths.look(|paths| paths.cwd.lock().clone())
    }

    /// Changes the working directory.
    pub fn set_cwd(&self, location: Arc<Location>) {
        self.paths.get().change_directory(Some(location));
    }

    /// File mode creation mask, for threads of the process.
    #[inline]
    pub(super) fn umask(&self) -> u32 {
        self.paths.get().umask.load(Ordering::Relaxed)
    }

    /// The same for anybody.
    pub fn look_at_umask(&self) -> u32 {
        self.paths.look(|paths| paths.umask.load(Ordering::Relaxed))
    }

    /// Changes the file mode creation mask and returns the previous one.
    pub(crate) fn set_umask(&self, umask: u32) -> u32 {
        self.paths.get().umask.swap(umask, Ordering::Relaxed)
    }

    /// The process of the calling thread, its only one, shares its open files with no other process from now on.
    pub(crate) fn unshare_files(&self) -> Result<()> {
        self.files.unshare(FdTable::take_over)
    }

    /// The same for where its paths start.
    pub(crate) fn unshare_paths(&self) -> Result<()> {
        self.paths.unshare(Paths::take_over)
    }

    /// The process has no files and no working directory any more: it has ended, or came to nothing.
    pub(super) fn leave_files(&self) {
        if !self.files.is_shared() {
            mqueue::end(self);
        }
        self.files.leave();
        self.paths.leave();
    }
}
