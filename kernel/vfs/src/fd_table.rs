// SPDX-License-Identifier: Apache-2.0 OR MIT
//! File descriptors of a process.
//!
//! [`FdTable`] maps small numbers to [`OpenFile`]s. Every new descriptor gets the lowest free number, as programs
//! rely on. The lock is held for a table access only: files that leave the table are handed to the caller, so
//! that their last reference is dropped (which may talk to a file server) outside it.

use alloc::sync::Arc;
use alloc::vec::Vec;

use hadal_hal::sync::SpinLock;

use crate::errno::{Errno, Result};
use crate::open_file::OpenFile;

/// Highest value `RLIMIT_NOFILE` may take (`fs.nr_open` of Linux).
pub const MAX_DESCRIPTORS: u32 = 1 << 20;

/// One descriptor.
#[derive(Clone)]
struct Slot {
    file: Arc<OpenFile>,
    close_on_exec: bool,
}

struct Table {
    slots: Vec<Option<Slot>>,
    /// No number below this one is free.
    lowest_free: usize,
    /// Soft `RLIMIT_NOFILE`: numbers at or above it are not handed out.
    limit: usize,
}

/// The descriptors of a process.
pub struct FdTable {
    table: SpinLock<Table>,
}

impl FdTable {
    /// An empty table with the given soft `RLIMIT_NOFILE`.
    pub const fn new(limit: u32) -> Self {
        Self { table: SpinLock::new(Table { slots: Vec::new(), lowest_free: 0, limit: limit as usize }) }
    }

    /// A copy that shares the open files (`clone` without `CLONE_FILES`).
    pub fn duplicate(&self) -> Self {
        let table = self.table.lock();
        let copy = Table { slots: table.slots.clone(), lowest_free: table.lowest_free, limit: table.limit };
        Self { table: SpinLock::new(copy) }
    }

    /// The open file behind a descriptor; `EBADF` when there is none.
    pub fn get(&self, fd: i32) -> Result<Arc<OpenFile>> {
        Ok(self.table.lock().slot(fd)?.file.clone())
    }

    /// Gives a file the lowest free number at or above `minimum` (`EMFILE` when there is none below the limit,
    /// `EINVAL` when `minimum` is not below the limit).
    pub fn insert_from(&self, file: Arc<OpenFile>, minimum: i32, close_on_exec: bool) -> Result<i32> {
        let minimum = usize::try_from(minimum).map_err(|_| Errno::EINVAL)?;
        let mut table = self.table.lock();
        if minimum >= table.limit {
            return Err(if minimum == 0 { Errno::EMFILE } else { Errno::EINVAL });
        }
        let start = minimum.max(table.lowest_free);
        let found = (start..table.slots.len()).find(|&fd| table.slots[fd].is_none());
        let fd = found.unwrap_or(start.max(table.slots.len()));
        if fd >= table.limit {
            return Err(Errno::EMFILE);
        }
        table.set(fd, Slot { file, close_on_exec });
        if minimum <= table.lowest_free {
            table.lowest_free = fd + 1;
        }
        Ok(fd as i32)
    }

    /// Gives a file the lowest free number.
    pub fn insert(&self, file: Arc<OpenFile>, close_on_exec: bool) -> Result<i32> {
        self.insert_from(file, 0, close_on_exec)
    }

    /// Gives two files the lowest free numbers, or none of them one (for `pipe2` and `socketpair`).
    pub fn insert_pair(
        &self,
        first: Arc<OpenFile>,
        second: Arc<OpenFile>,
        close_on_exec: bool,
    ) -> Result<(i32, i32)> {
        let first = self.insert(first, close_on_exec)?;
        match self.insert(second, close_on_exec) {
            Ok(second) => Ok((first, second)),
            Err(error) => {
                drop(self.remove(first));
                Err(error)
            }
        }
    }

    /// Puts a file at a given number (`dup2`, `dup3`); returns the file that was there, to be dropped.
    pub fn replace(
        &self,
        fd: i32,
        file: Arc<OpenFile>,
        close_on_exec: bool,
    ) -> Result<Option<Arc<OpenFile>>> {
        let index = usize::try_from(fd).map_err(|_| Errno::EBADF)?;
        let mut table = self.table.lock();
        if index >= table.limit {
            return Err(Errno::EBADF);
        }
        Ok(table.set(index, Slot { file, close_on_exec }).map(|slot| slot.file))
    }

    /// Takes a descriptor away (`close`) and returns its file, to be dropped.
    pub fn remove(&self, fd: i32) -> Result<Arc<OpenFile>> {
        let mut table = self.table.lock();
        table.slot(fd)?;
        table.take(fd as usize).map(|slot| slot.file).ok_or(Errno::EBADF)
    }

    /// `dup`: the same file at the lowest free number at or above `minimum`.
    pub fn dup(&self, fd: i32, minimum: i32, close_on_exec: bool) -> Result<i32> {
        let file = self.get(fd)?;
        self.insert_from(file, minimum, close_on_exec)
    }

    /// `dup2` and `dup3` for two different numbers: the same file at `new_fd`.
    pub fn dup_to(&self, fd: i32, new_fd: i32, close_on_exec: bool) -> Result<Option<Arc<OpenFile>>> {
        let file = self.get(fd)?;
        self.replace(new_fd, file, close_on_exec)
    }

    /// Whether `execve` closes the descriptor (`F_GETFD`).
    pub fn close_on_exec(&self, fd: i32) -> Result<bool> {
        Ok(self.table.lock().slot(fd)?.close_on_exec)
    }

    /// Says whether `execve` closes the descriptor (`F_SETFD`).
    pub fn set_close_on_exec(&self, fd: i32, close_on_exec: bool) -> Result<()> {
        let mut table = self.table.lock();
        table.slot(fd)?;
        if let Some(Some(slot)) = table.slots.get_mut(fd as usize) {
            slot.close_on_exec = close_on_exec;
        }
        Ok(())
    }

    /// Closes all descriptors from `first` to `last` inclusive (`close_range`); the files are dropped here.
    pub fn close_range(&self, first: u32, last: u32) {
        drop(self.take_where(first, last, |_| true));
    }

    /// Marks all descriptors from `first` to `last` inclusive as closed by `execve` (`CLOSE_RANGE_CLOEXEC`).
    pub fn close_range_on_exec(&self, first: u32, last: u32) {
        let mut table = self.table.lock();
        let end = table.slots.len().min((last as usize).saturating_add(1));
        for slot in table.slots.iter_mut().take(end).skip(first as usize).flatten() {
            slot.close_on_exec = true;
        }
    }

    /// Closes what `execve` closes.
    pub fn exec(&self) {
        drop(self.take_where(0, u32::MAX, |slot| slot.close_on_exec));
    }

    /// Closes everything, at the end of a process.
    pub fn clear(&self) {
        self.close_range(0, u32::MAX);
    }

    fn take_where(&self, first: u32, last: u32, wanted: impl Fn(&Slot) -> bool) -> Vec<Slot> {
        let mut taken = Vec::new();
        let mut table = self.table.lock();
        let end = table.slots.len().min((last as usize).saturating_add(1));
        for fd in first as usize..end {
            if table.slots[fd].as_ref().is_some_and(&wanted) {
                taken.extend(table.take(fd));
            }
        }
        taken
    }

    /// All descriptors in use, in order, for `/proc/self/fd`.
    pub fn list(&self) -> Vec<i32> {
        let table = self.table.lock();
        table.slots.iter().enumerate().filter(|(_, slot)| slot.is_some()).map(|(fd, _)| fd as i32).collect()
    }

    /// The soft `RLIMIT_NOFILE`.
    pub fn limit(&self) -> u32 {
        self.table.lock().limit as u32
    }

    /// Changes the soft `RLIMIT_NOFILE`; open descriptors above it stay open.
    pub fn set_limit(&self, limit: u32) {
        self.table.lock().limit = limit.min(MAX_DESCRIPTORS) as usize;
    }
}

impl Table {
    fn slot(&self, fd: i32) -> Result<&Slot> {
        let index = usize::try_from(fd).map_err(|_| Errno::EBADF)?;
        self.slots.get(index).and_then(Option::as_ref).ok_or(Errno::EBADF)
    }

    fn set(&mut self, fd: usize, slot: Slot) -> Option<Slot> {
        if fd >= self.slots.len() {
            self.slots.resize(fd + 1, None);
        }
        self.slots[fd].replace(slot)
    }

    fn take(&mut self, fd: usize) -> Option<Slot> {
        let slot = self.slots.get_mut(fd)?.take();
        if slot.is_some() {
            self.lowest_free = self.lowest_free.min(fd);
        }
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::null_open_file;

    #[test]
    fn numbers_are_the_lowest_free() {
        let table = FdTable::new(8);
        for fd in 0..4 {
            assert_eq!(table.insert(null_open_file(), false), Ok(fd));
        }
        table.remove(1).unwrap();
        table.remove(2).unwrap();
        assert_eq!(table.insert_from(null_open_file(), 2, true), Ok(2));
        assert_eq!(table.insert(null_open_file(), false), Ok(1));
        assert_eq!(table.insert(null_open_file(), false), Ok(4));
        assert_eq!(table.list(), [0, 1, 2, 3, 4]);
        assert_eq!(table.close_on_exec(2), Ok(true));
        assert_eq!(table.close_on_exec(1), Ok(false));
    }

    #[test]
    fn the_limit_holds() {
        let table = FdTable::new(2);
        assert_eq!(table.insert(null_open_file(), false), Ok(0));
        assert_eq!(table.insert_pair(null_open_file(), null_open_file(), false), Err(Errno::EMFILE));
        assert_eq!(table.list(), [0]);
        assert_eq!(table.insert_from(null_open_file(), 2, false), Err(Errno::EINVAL));
        assert_eq!(table.dup_to(0, 2, false).err(), Some(Errno::EBADF));
        table.set_limit(3);
        assert_eq!(table.dup(0, 2, false), Ok(2));
    }

    #[test]
    fn bad_numbers_are_refused() {
        let table = FdTable::new(16);
        assert_eq!(table.get(-1).err(), Some(Errno::EBADF));
        assert_eq!(table.get(0).err(), Some(Errno::EBADF));
        assert_eq!(table.remove(7).err(), Some(Errno::EBADF));
        assert_eq!(table.replace(-1, null_open_file(), false).err(), Some(Errno::EBADF));
        assert_eq!(table.set_close_on_exec(3, true), Err(Errno::EBADF));
    }

    #[test]
    fn dup_shares_the_description() {
        let table = FdTable::new(16);
        let first = table.insert(null_open_file(), true).unwrap();
        let second = table.dup(first, 5, false).unwrap();
        assert_eq!(second, 5);
        assert!(Arc::ptr_eq(&table.get(first).unwrap(), &table.get(second).unwrap()));
        table.exec();
        assert_eq!(table.list(), [5]);
    }

    #[test]
    fn close_range_closes_and_frees_numbers() {
        let table = FdTable::new(64);
        for _ in 0..10 {
            table.insert(null_open_file(), false).unwrap();
        }
        table.close_range(3, 6);
        assert_eq!(table.list(), [0, 1, 2, 7, 8, 9]);
        table.close_range_on_exec(8, u32::MAX);
        assert_eq!(table.close_on_exec(7), Ok(false));
        assert_eq!(table.close_on_exec(9), Ok(true));
        assert_eq!(table.insert(null_open_file(), false), Ok(3));
        table.clear();
        assert!(table.list().is_empty());
    }

    #[test]
    fn a_copy_is_independent() {
        let table = FdTable::new(16);
        table.insert(null_open_file(), false).unwrap();
        let copy = table.duplicate();
        copy.remove(0).unwrap();
        assert!(table.get(0).is_ok());
        assert_eq!(copy.insert(null_open_file(), false), Ok(0));
    }
}
