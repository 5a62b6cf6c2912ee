// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A table of descriptors as one process uses it: with the process's limit, which others that use the table need not have.

use alloc::sync::Arc;
use core::ops::Deref;
use core::sync::atomic::{AtomicU32, Ordering};

use super::{FdTable, MAX_DESCRIPTORS, Reserved, Slot};
use crate::errno::{Errno, Result};
use crate::open_file::OpenFile;

/// A table as one process uses it.
#[derive(Clone, Copy)]
pub struct Descriptors<'a> {
    pub(super) table: &'a FdTable,
    /// Soft `RLIMIT_NOFILE`: numbers at or above it are not handed out.
    pub(super) limit: &'a AtomicU32,
}

impl Deref for Descriptors<'_> {
    type Target = FdTable;

    fn deref(&self) -> &FdTable {
        self.table
    }
}

impl<'a> Descriptors<'a> {
    /// Gives a file the lowest free number at or above `minimum` (`EMFILE` when there is none below the limit,
    /// `EINVAL` when `minimum` is not below the limit, `ENOMEM` when the table cannot grow).
    pub fn insert_from(self, file: Arc<OpenFile>, minimum: i32, close_on_exec: bool) -> Result<i32> {
        self.take(minimum, Some(Slot { file, close_on_exec }))
    }

    /// Takes the lowest free number for a file that is still to be made or opened: what follows cannot fail for want of a
    /// number. The errors are those of [`Descriptors::insert_from`].
    pub fn reserve(self) -> Result<Reserved<'a>> {
        let fd = self.take(0, None)?;
        Ok(Reserved { table: self.table, fd })
    }

    /// Takes the lowest free number at or above `minimum`, for a slot or with none yet.
    #[inline]
    fn take(self, minimum: i32, slot: Option<Slot>) -> Result<i32> {
        let minimum = usize::try_from(minimum).map_err(|_| Errno::EINVAL)?;
        let limit = self.limit() as usize;
        if minimum >= limit {
            return Err(if minimum == 0 { Errno::EMFILE } else { Errno::EINVAL });
        }
        loop {
            let number = {
                let _changing = self.changing.write();
                let near =
                    self.tree.chunk(minimum).and_then(|chunk| Some((chunk.next_free(minimum)?, chunk)));
                let (number, chunk) = match near {
                    Some((number, chunk)) => (number, Some(chunk)),
                    None => {
                        let number = self.tree.lowest_free(minimum);
                        (number, self.tree.chunk(number))
                    }
                };
                if number >= limit {
                    return Err(Errno::EMFILE);
                }
                if let Some(chunk) = chunk {
                    *chunk.place(number).write() = slot;
                    self.tree.note(chunk, number, true);
                    return Ok(number as i32);
                }
                number
            };
            self.tree.grow(number)?;
        }
    }

    /// Gives a file the lowest free number.
    pub fn insert(self, file: Arc<OpenFile>, close_on_exec: bool) -> Result<i32> {
        self.insert_from(file, 0, close_on_exec)
    }

    /// Gives two files the lowest free numbers, or none of them one (for `pipe2` and `socketpair`).
    pub fn insert_pair(
        self,
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

    /// Puts a file at a given number (`dup2`, `dup3`); returns the file that was there, to be dropped. `EBUSY` where another
    /// thread has reserved the number.
    pub fn replace(self, fd: i32, file: Arc<OpenFile>, close_on_exec: bool) -> Result<Option<Arc<OpenFile>>> {
        let number = usize::try_from(fd).map_err(|_| Errno::EBADF)?;
        if number >= self.limit() as usize {
            return Err(Errno::EBADF);
        }
        self.put(number, Slot { file, close_on_exec })
    }

    /// `dup`: the same file at the lowest free number at or above `minimum`.
    pub fn dup(self, fd: i32, minimum: i32, close_on_exec: bool) -> Result<i32> {
        let file = self.get(fd)?;
        self.insert_from(file, minimum, close_on_exec)
    }

    /// `dup2` and `dup3` for two different numbers: the same file at `new_fd`.
    pub fn dup_to(self, fd: i32, new_fd: i32, close_on_exec: bool) -> Result<Option<Arc<OpenFile>>> {
        let file = self.get(fd)?;
        self.replace(new_fd, file, close_on_exec)
    }

    /// The soft `RLIMIT_NOFILE`.
    pub fn limit(self) -> u32 {
        self.limit.load(Ordering::Relaxed).min(MAX_DESCRIPTORS)
    }
}
