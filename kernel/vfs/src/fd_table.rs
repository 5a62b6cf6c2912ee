// SPDX-License-Identifier: Apache-2.0 OR MIT
//! File descriptors of a process.
//!
//! [`FdTable`] maps small numbers to [`OpenFile`]s; a process uses it by its [`Descriptors`], and several may. Every new descriptor gets the lowest free number, as programs rely on.
//! Numbers are places of a tree (`tree`): looking one up takes the lock of its place only. Whoever changes which numbers are
//! taken also holds the table's lock, for a constant number of steps; memory is asked for before. Files that leave the table
//! are dropped without a lock, because their last reference may talk to a file server.

mod descriptors;
mod tree;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use core::sync::atomic::AtomicU32;

use hadal_hal::memory::fallible::MakeRoom;
use hadal_hal::sync::{Rank, RwSpinLock};

use crate::errno::{Errno, Result};
use crate::open_file::OpenFile;
pub use descriptors::Descriptors;
use tree::{Place, Tree};

/// Highest value `RLIMIT_NOFILE` may take (`fs.nr_open` of Linux).
pub const MAX_DESCRIPTORS: u32 = 1 << 20;
const _: () = assert!(tree::NUMBERS == MAX_DESCRIPTORS as usize);

/// One descriptor.
#[derive(Clone)]
struct Slot {
    file: Arc<OpenFile>,
    close_on_exec: bool,
}

impl Slot {
    /// The file, which has one descriptor less in the table.
    fn close(self) -> Arc<OpenFile> {
        if let Ok(file) = self.file.file() {
            file.descriptor_closed();
        }
        self.file
    }
}

/// A number that is taken and has no file yet; dropped, it is free again.
pub struct Reserved<'a> {
    table: &'a FdTable,
    fd: i32,
}

impl Reserved<'_> {
    /// Gives the number its file, and returns it.
    pub fn fill(self, file: Arc<OpenFile>, close_on_exec: bool) -> i32 {
        if let Ok(place) = self.table.place(self.fd) {
            *place.write() = Some(Slot { file, close_on_exec });
        }
        let fd = self.fd;
        mem::forget(self);
        fd
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        let number = self.fd as usize;
        if let Some(chunk) = self.table.tree.chunk(number) {
            let _changing = self.table.changing.write();
            self.table.tree.note(chunk, number, false);
        }
    }
}

/// The descriptors of a process, or of several.
pub struct FdTable {
    tree: Tree,
    /// Held while a number becomes taken or free.
    changing: RwSpinLock<()>,
}

impl Default for FdTable {
    fn default() -> Self {
        Self::new()
    }
}

impl FdTable {
    /// An empty table.
    pub const fn new() -> Self {
        Self { tree: Tree::new(), changing: RwSpinLock::ranked(Rank::Files, ()) }
    }

    /// The table, used with a soft `RLIMIT_NOFILE`.
    #[inline(always)]
    pub fn limited<'a>(&'a self, limit: &'a AtomicU32) -> Descriptors<'a> {
        Descriptors { table: self, limit }
    }

    #[inline]
    fn place(&self, fd: i32) -> Result<&Place> {
        let number = usize::try_from(fd).map_err(|_| Errno::EBADF)?;
        self.tree.place(number).ok_or(Errno::EBADF)
    }

    /// The open file behind a descriptor; `EBADF` when there is none.
    #[inline]
    pub fn get(&self, fd: i32) -> Result<Arc<OpenFile>> {
        self.place(fd)?.read().as_ref().map(|slot| slot.file.clone()).ok_or(Errno::EBADF)
    }

    /// Puts a slot at a number below [`MAX_DESCRIPTORS`]; returns the file that was there.
    fn put(&self, number: usize, slot: Slot) -> Result<Option<Arc<OpenFile>>> {
        self.tree.grow(number)?;
        let chunk = self.tree.chunk(number).ok_or(Errno::ENOMEM)?;
        let changing = self.changing.write();
        let mut place = chunk.place(number).write();
        if place.is_none() && chunk.is_taken(number) {
            return Err(Errno::EBUSY);
        }
        let old = place.replace(slot);
        drop(place);
        self.tree.note(chunk, number, true);
        drop(changing);
        Ok(old.map(Slot::close))
    }

    /// Takes a descriptor away (`close`) and returns its file, to be dropped.
    pub fn remove(&self, fd: i32) -> Result<Arc<OpenFile>> {
        let number = usize::try_from(fd).map_err(|_| Errno::EBADF)?;
        let chunk = self.tree.chunk(number).ok_or(Errno::EBADF)?;
        let changing = self.changing.write();
        let slot = chunk.place(number).write().take().ok_or(Errno::EBADF)?;
        self.tree.note(chunk, number, false);
        drop(changing);
        Ok(slot.close())
    }

    /// Whether `execve` closes the descriptor (`F_GETFD`).
    pub fn close_on_exec(&self, fd: i32) -> Result<bool> {
        self.place(fd)?.read().as_ref().map(|slot| slot.close_on_exec).ok_or(Errno::EBADF)
    }

    /// Says whether `execve` closes the descriptor (`F_SETFD`).
    pub fn set_close_on_exec(&self, fd: i32, close_on_exec: bool) -> Result<()> {
        self.place(fd)?.write().as_mut().ok_or(Errno::EBADF)?.close_on_exec = close_on_exec;
        Ok(())
    }

    /// Closes all descriptors from `first` to `last` inclusive (`close_range`); the files are dropped here.
    pub fn close_range(&self, first: u32, last: u32) {
        for fd in self.taken(first, last) {
            drop(self.remove(fd));
        }
    }

    /// Marks all descriptors from `first` to `last` inclusive as closed by `execve` (`CLOSE_RANGE_CLOEXEC`).
    pub fn close_range_on_exec(&self, first: u32, last: u32) {
        for fd in self.taken(first, last) {
            // One that is closed meanwhile needs no mark.
            let _ = self.set_close_on_exec(fd, true);
        }
    }

    /// Gives the table, which is empty, the descriptors of another one (`fork`).
    pub fn take_over(&self, other: &Self) -> Result<()> {
        for fd in other.taken(0, u32::MAX) {
            // Both as they are together: another thread may put another file there.
            let slot = other.place(fd)?.read().clone();
            // One that is closed meanwhile is not there.
            if let Some(slot) = slot {
                self.put(fd as usize, slot)?;
            }
        }
        Ok(())
    }

    /// Closes what `execve` closes. The process has no other thread then.
    pub fn exec(&self) {
        for fd in self.taken(0, u32::MAX) {
            if self.close_on_exec(fd) == Ok(true) {
                drop(self.remove(fd));
            }
        }
    }

    /// Closes everything, at the end of the last process that uses the table.
    pub fn clear(&self) {
        self.close_range(0, u32::MAX);
    }

    /// The descriptors in use from `first` to `last` inclusive, in order; each is looked for when it is asked for.
    pub fn taken(&self, first: u32, last: u32) -> impl Iterator<Item = i32> {
        let mut next = first as usize;
        let numbers = core::iter::from_fn(move || {
            let number = self.tree.next_taken(next).filter(|&number| number <= last as usize)?;
            next = number + 1;
            Some(number as i32)
        });
        // One that is only reserved is no descriptor yet.
        numbers.filter(|&fd| self.place(fd).is_ok_and(|place| place.read().is_some()))
    }

    /// All descriptors in use, in order.
    pub fn list(&self) -> Result<Vec<i32>> {
        let mut list = Vec::new();
        for fd in self.taken(0, u32::MAX) {
            list.make_room(1)?;
            list.push(fd);
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::atomic::Ordering;

    use proptest::prelude::*;

    use super::*;
    use crate::testing::null_open_file;

    /// An empty table for a process with a limit.
    fn table(limit: u32) -> Descriptors<'static> {
        Box::leak(Box::new(FdTable::new())).limited(Box::leak(Box::new(AtomicU32::new(limit))))
    }

    #[test]
    fn numbers_are_the_lowest_free() {
        let table = table(8);
        for fd in 0..4 {
            assert_eq!(table.insert(null_open_file(), false), Ok(fd));
        }
        table.remove(1).unwrap();
        table.remove(2).unwrap();
        assert_eq!(table.insert_from(null_open_file(), 2, true), Ok(2));
        assert_eq!(table.insert(null_open_file(), false), Ok(1));
        assert_eq!(table.insert(null_open_file(), false), Ok(4));
        assert_eq!(table.list().unwrap(), [0, 1, 2, 3, 4]);
        assert_eq!(table.close_on_exec(2), Ok(true));
        assert_eq!(table.close_on_exec(1), Ok(false));
    }

    #[test]
    fn the_limit_holds() {
        let table = table(2);
        assert_eq!(table.insert(null_open_file(), false), Ok(0));
        assert_eq!(table.insert_pair(null_open_file(), null_open_file(), false), Err(Errno::EMFILE));
        assert_eq!(table.list().unwrap(), [0]);
        assert_eq!(table.insert_from(null_open_file(), 2, false), Err(Errno::EINVAL));
        assert_eq!(table.dup_to(0, 2, false).err(), Some(Errno::EBADF));
        table.limit.store(3, Ordering::Relaxed);
        assert_eq!(table.dup(0, 2, false), Ok(2));
    }

    #[test]
    fn a_reserved_number_is_taken_and_no_descriptor() {
        let table = table(3);
        table.insert(null_open_file(), false).unwrap();
        let reserved = table.reserve().unwrap();
        assert_eq!(table.insert(null_open_file(), false), Ok(2));
        assert_eq!(table.reserve().err(), Some(Errno::EMFILE));
        assert_eq!((table.get(1).err(), table.remove(1).err()), (Some(Errno::EBADF), Some(Errno::EBADF)));
        assert_eq!(table.dup_to(0, 1, false).err(), Some(Errno::EBUSY));
        assert_eq!(table.list().unwrap(), [0, 2]);
        table.close_range(0, u32::MAX);
        assert_eq!(reserved.fill(null_open_file(), true), 1);
        assert_eq!((table.list().unwrap(), table.close_on_exec(1)), (vec![1], Ok(true)));
        drop(table.reserve().unwrap());
        assert_eq!(table.insert(null_open_file(), false), Ok(0));
    }

    #[test]
    fn bad_numbers_are_refused() {
        let table = table(16);
        assert_eq!(table.get(-1).err(), Some(Errno::EBADF));
        assert_eq!(table.get(0).err(), Some(Errno::EBADF));
        assert_eq!(table.remove(7).err(), Some(Errno::EBADF));
        assert_eq!(table.replace(-1, null_open_file(), false).err(), Some(Errno::EBADF));
        assert_eq!(table.set_close_on_exec(3, true), Err(Errno::EBADF));
    }

    #[test]
    fn dup_shares_the_description() {
        let table = table(16);
        let first = table.insert(null_open_file(), true).unwrap();
        let second = table.dup(first, 5, false).unwrap();
        assert_eq!(second, 5);
        assert!(Arc::ptr_eq(&table.get(first).unwrap(), &table.get(second).unwrap()));
        table.exec();
        assert_eq!(table.list().unwrap(), [5]);
    }

    #[test]
    fn close_range_closes_and_frees_numbers() {
        let table = table(64);
        for _ in 0..10 {
            table.insert(null_open_file(), false).unwrap();
        }
        table.close_range(3, 6);
        assert_eq!(table.list().unwrap(), [0, 1, 2, 7, 8, 9]);
        table.close_range_on_exec(8, u32::MAX);
        assert_eq!(table.close_on_exec(7), Ok(false));
        assert_eq!(table.close_on_exec(9), Ok(true));
        assert_eq!(table.insert(null_open_file(), false), Ok(3));
        table.clear();
        assert!(table.list().unwrap().is_empty());
    }

    #[test]
    fn numbers_far_apart_cost_no_more_than_their_own_places() {
        let table = table(MAX_DESCRIPTORS);
        let highest = MAX_DESCRIPTORS as i32 - 1;
        assert_eq!(table.replace(highest, null_open_file(), false).map(|old| old.is_none()), Ok(true));
        assert_eq!(table.insert(null_open_file(), false), Ok(0));
        assert_eq!(table.insert_from(null_open_file(), highest - 1, false), Ok(highest - 1));
        assert_eq!(table.insert_from(null_open_file(), highest - 1, false), Err(Errno::EMFILE));
        assert_eq!(table.list().unwrap(), [0, highest - 1, highest]);
        table.remove(highest).unwrap();
        assert_eq!(table.insert_from(null_open_file(), highest, false), Ok(highest));
        table.clear();
        assert_eq!(table.taken(0, u32::MAX).next(), None);
    }

    #[test]
    fn full_parts_are_passed_over() {
        let table = table(MAX_DESCRIPTORS);
        let file = null_open_file();
        for fd in 0..40_000 {
            assert_eq!(table.insert(file.clone(), false), Ok(fd));
        }
        for fd in [39_999, 16_383, 16_384, 127, 128] {
            table.remove(fd).unwrap();
        }
        assert_eq!(table.dup(5, 129, false), Ok(16_383));
        for fd in [127, 128, 16_384, 39_999, 40_000] {
            assert_eq!(table.insert(file.clone(), false), Ok(fd));
        }
    }

    #[test]
    fn a_copy_has_files_with_their_marks() {
        let table = table(8);
        let files = [null_open_file(), null_open_file()];
        table.insert(files[0].clone(), true).unwrap();
        let stops = AtomicU32::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while stops.load(Ordering::Relaxed) == 0 {
                    drop(table.replace(0, files[1].clone(), false));
                    drop(table.replace(0, files[0].clone(), true));
                }
            });
            for _ in 0..10_000 {
                let copy = FdTable::new();
                copy.take_over(&table).unwrap();
                let is_marked = Arc::ptr_eq(&copy.get(0).unwrap(), &files[0]);
                if copy.close_on_exec(0) != Ok(is_marked) {
                    stops.store(2, Ordering::Relaxed);
                    break;
                }
            }
            stops.fetch_max(1, Ordering::Relaxed);
        });
        assert_eq!(stops.load(Ordering::Relaxed), 1);
    }

    proptest! {
        #[test]
        fn behaves_like_a_sorted_map(
            actions in proptest::collection::vec((0..4_u8, 0..600_i32), 1..300),
        ) {
            let table = table(500);
            let file = null_open_file();
            let mut model = BTreeSet::new();
            for (action, fd) in actions {
                match action {
                    0 => prop_assert_eq!(table.remove(fd).is_ok(), model.remove(&fd)),
                    1 => {
                        let fits = fd < 500;
                        prop_assert_eq!(table.replace(fd, file.clone(), false).is_ok(), fits);
                        if fits {
                            model.insert(fd);
                        }
                    }
                    _ => {
                        let free = (fd..500).find(|fd| !model.contains(fd));
                        prop_assert_eq!(table.insert_from(file.clone(), fd, false).ok(), free);
                        model.extend(free);
                    }
                }
                prop_assert!(table.taken(0, u32::MAX).eq(model.iter().copied()));
            }
        }
    }
}
