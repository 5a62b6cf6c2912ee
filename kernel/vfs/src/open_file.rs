// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Open file descriptions: what descriptors point to.
//!
//! An [`OpenFile`] joins a [`File`] with the state that `dup` shares: the offset, the status flags, and the
//! [`Location`] it was opened at. Reads and writes at the shared offset hold its lock from start to end, in however
//! many steps ([`Reading`], [`Writing`]), as POSIX asks: two threads never read the same bytes.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};

use hadal_hal::memory::fallible::{self, ArcRoom, MakeRoom};
use hadal_hal::sync::SpinLock;
use hadal_sync::Mutex;

use crate::errno::{Errno, Result};
use crate::file::{Blocking, DirEntry, File, Positions};
use crate::flags::OpenFlags;
use crate::inode::Inode;
use crate::metadata::Metadata;
use crate::namespace::Location;
use crate::transfer::{At, Reading, Writing};

/// Where an offset given to [`OpenFile::seek`] counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeekFrom {
    /// The start of the file (`SEEK_SET`).
    Start(i64),
    /// The present position (`SEEK_CUR`).
    Current(i64),
    /// The end of the file (`SEEK_END`).
    End(i64),
    /// The first data at or behind the position (`SEEK_DATA`).
    Data(i64),
    /// The first hole at or behind the position (`SEEK_HOLE`).
    Hole(i64),
}

/// Hears that an open file description is gone: its last descriptor is closed, and no call uses it any more.
pub trait Watcher: Send + Sync {
    /// Is told, once, while the file itself is still there. In a thread, with no lock held.
    fn closed(self: Arc<Self>, file: &OpenFile);
}

/// An open file description.
pub struct OpenFile {
    /// `None` for `O_PATH`.
    file: Option<Arc<dyn File>>,
    /// As the file said when it was opened: they are asked for with every transfer.
    positions: Positions,
    is_directory: bool,
    /// Of a file that keeps the time of the last access: what counts changes, and the count for which the access is noted. Reads
    /// are many, and most of them have nothing to note.
    changes: Option<&'static AtomicU32>,
    noted: AtomicU32,
    location: Location,
    /// Access mode and the bits of [`OpenFlags::SETTABLE`].
    status: AtomicU32,
    /// The position in bytes; the cookie of the next entry for a directory.
    offset: Mutex<u64>,
    watchers: SpinLock<Vec<Arc<dyn Watcher>>>,
}

/// Bits of `open` that do not stay with the file.
const TRANSIENT: OpenFlags = OpenFlags::CREATE
    .union(OpenFlags::EXCLUSIVE)
    .union(OpenFlags::NO_CTTY)
    .union(OpenFlags::TRUNCATE)
    .union(OpenFlags::CLOSE_ON_EXEC);

#[inline]
fn blocking_by(status: OpenFlags) -> Blocking {
    if status.contains(OpenFlags::NONBLOCK) { Blocking::Never } else { Blocking::Wait }
}

/// Memory for a description.
pub(crate) struct OpenFileRoom(ArcRoom<OpenFile>);

impl OpenFileRoom {
    /// Joins a file with the place it was opened at.
    pub(crate) fn join(self, file: Arc<dyn File>, location: Location, flags: OpenFlags) -> Arc<OpenFile> {
        self.fill(Some(file), location, flags)
    }

    fn fill(self, file: Option<Arc<dyn File>>, location: Location, flags: OpenFlags) -> Arc<OpenFile> {
        let status = AtomicU32::new(flags.difference(TRANSIENT).bits());
        let (offset, watchers) = (Mutex::new(0), SpinLock::new(Vec::new()));
        let positions = file.as_ref().map_or(Positions::None, |file| file.positions());
        let is_directory = location.inode().is_directory();
        let changes = file.as_ref().and_then(|file| file.changes());
        let noted = AtomicU32::new(changes.map_or(0, |changes| !changes.load(Ordering::Relaxed)));
        self.0.fill(OpenFile {
            file,
            positions,
            is_directory,
            changes,
            noted,
            location,
            status,
            offset,
            watchers,
        })
    }
}

impl OpenFile {
    /// Joins a file with the place it was opened at.
    pub fn new(file: Arc<dyn File>, location: Location, flags: OpenFlags) -> Result<Arc<Self>> {
        Self::build(Some(file), location, flags)
    }

    /// A description that only names a place (`O_PATH`).
    pub fn path_only(location: Location, flags: OpenFlags) -> Result<Arc<Self>> {
        Self::build(None, location, flags)
    }

    /// Room for a description: taken before a file is made or cut short for it.
    pub(crate) fn room() -> Result<OpenFileRoom> {
        Ok(OpenFileRoom(fallible::arc_room()?))
    }

    fn build(file: Option<Arc<dyn File>>, location: Location, flags: OpenFlags) -> Result<Arc<Self>> {
        Ok(Self::room()?.fill(file, location, flags))
    }

    /// Registers somebody who has to know when the description goes.
    pub fn watch(&self, watcher: Arc<dyn Watcher>) -> Result<()> {
        let mut watchers = self.watchers.lock();
        watchers.make_room(1)?;
        watchers.push(watcher);
        Ok(())
    }

    /// Takes a watcher out, if it is in.
    pub fn unwatch(&self, watcher: &Arc<dyn Watcher>) {
        let mut watchers = self.watchers.lock();
        let index = watchers.iter().position(|each| Arc::ptr_eq(each, watcher));
        let removed = index.map(|index| watchers.swap_remove(index));
        drop(watchers);
        drop(removed);
    }

    /// The file; `EBADF` when the description only names a place.
    pub fn file(&self) -> Result<&Arc<dyn File>> {
        self.file.as_ref().ok_or(Errno::EBADF)
    }

    /// Whether the file has positions, so that `lseek` and `pread` make sense.
    pub fn is_seekable(&self) -> bool {
        !matches!(self.positions, Positions::None | Positions::NoneAndSeekIgnored)
    }

    /// Whether the file itself keeps the position ([`Positions::Kept`]).
    pub fn keeps_position(&self) -> bool {
        self.positions == Positions::Kept
    }

    /// The inode that was opened.
    pub fn inode(&self) -> &Arc<dyn Inode> {
        self.location.inode()
    }

    /// Where it was opened.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Access mode and status flags, as `F_GETFL` gives them.
    pub fn status(&self) -> OpenFlags {
        OpenFlags::from_bits_retain(self.status.load(Ordering::Relaxed))
    }

    /// Replaces the changeable status flags (`F_SETFL`); other bits of `flags` are ignored.
    pub fn set_status(&self, flags: OpenFlags) {
        let new = flags.intersection(OpenFlags::SETTABLE).bits();
        let keep = !OpenFlags::SETTABLE.bits();
        let update = |old: u32| Some(old & keep | new);
        // The closure never refuses, so neither does the update.
        let _ = self.status.fetch_update(Ordering::Relaxed, Ordering::Relaxed, update);
    }

    /// Whether a stream operation may wait.
    pub fn blocking(&self) -> Blocking {
        blocking_by(self.status())
    }

    /// Notes that the file is read or mapped, unless it was opened not to.
    #[inline(never)]
    pub fn accessed(&self) {
        if let (Some(changes), Some(file)) = (self.changes, &self.file)
            && !self.status().contains(OpenFlags::NO_ATIME)
        {
            // Before it is noted: the next change gives another number.
            let count = changes.load(Ordering::Acquire);
            if file.accessed() {
                self.noted.store(count, Ordering::Relaxed);
            }
        }
    }

    /// Begins to read: at a position (`pread64`), or at the shared offset, which moves, or from a stream.
    #[inline]
    pub fn reading(&self, position: Option<u64>) -> Result<Reading<'_>> {
        let status = self.status();
        let file = if status.readable() { self.file()? } else { return Err(Errno::EBADF) };
        if self.is_directory {
            return Err(Errno::EISDIR);
        }
        if let Some(changes) = self.changes
            && changes.load(Ordering::Relaxed) != self.noted.load(Ordering::Relaxed)
        {
            self.accessed();
        }
        Ok(Reading::new(file, self.begin(position)?, blocking_by(status)))
    }

    /// Begins to write: at a position (`pwrite64`), or at the shared offset, which moves, or to a stream. As on Linux,
    /// `O_APPEND` makes both an append.
    #[inline]
    pub fn writing(&self, position: Option<u64>) -> Result<Writing<'_>> {
        let status = self.status();
        let file = if status.writable() { self.file()? } else { return Err(Errno::EBADF) };
        let at = self.begin(position)?;
        let appends = self.positions == Positions::Shared && status.contains(OpenFlags::APPEND);
        Ok(Writing::new(file, at, blocking_by(status), appends))
    }

    #[inline]
    fn begin(&self, position: Option<u64>) -> Result<At<'_>> {
        match (position, self.positions) {
            (Some(_), Positions::None | Positions::NoneAndSeekIgnored) => Err(Errno::ESPIPE),
            (Some(position), _) if position > i64::MAX as u64 => Err(Errno::EINVAL),
            (Some(position), _) => Ok(At::Position(position)),
            (None, Positions::Ignored) => Ok(At::Position(0)),
            (None, Positions::Shared) => Ok(At::Shared(self.offset.lock())),
            (None, _) => Ok(At::Stream),
        }
    }

    /// Reads at the shared offset and moves it.
    pub fn read(&self, buffer: &mut [u8]) -> Result<usize> {
        self.reading(None)?.read(buffer)
    }

    /// Writes at the shared offset (or the end, with `O_APPEND`) and moves it.
    pub fn write(&self, data: &[u8]) -> Result<usize> {
        self.writing(None)?.write(data)
    }

    /// Reads at a position (`pread64`).
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.reading(Some(offset))?.read(buffer)
    }

    /// Writes at a position (`pwrite64`).
    pub fn write_at(&self, offset: u64, data: &[u8]) -> Result<usize> {
        self.writing(Some(offset))?.write(data)
    }

    /// Moves the offset; returns the new one.
    pub fn seek(&self, from: SeekFrom) -> Result<u64> {
        let file = self.file()?;
        match self.positions {
            Positions::Ignored | Positions::NoneAndSeekIgnored => return Ok(0),
            Positions::None => return Err(Errno::ESPIPE),
            Positions::Kept => return file.seek(from),
            Positions::Shared => {}
        }
        let mut offset = self.offset.lock();
        let target = match from {
            SeekFrom::Start(by) => Some(by),
            SeekFrom::Current(by) => i64::try_from(*offset).ok().and_then(|at| at.checked_add(by)),
            SeekFrom::End(by) => i64::try_from(self.size()?).ok().and_then(|at| at.checked_add(by)),
            // A file is one piece of data with a hole at its end: always a valid answer.
            SeekFrom::Data(at) => {
                let size = self.size()?;
                if at < 0 || at as u64 >= size {
                    return Err(Errno::ENXIO);
                }
                Some(at)
            }
            SeekFrom::Hole(at) => {
                let size = self.size()?;
                if at < 0 || at as u64 >= size {
                    return Err(Errno::ENXIO);
                }
                i64::try_from(size).ok()
            }
        };
        let target = u64::try_from(target.ok_or(Errno::EOVERFLOW)?).map_err(|_| Errno::EINVAL)?;
        *offset = target;
        Ok(target)
    }

    fn size(&self) -> Result<u64> {
        if self.is_directory { Ok(i64::MAX as u64) } else { self.file()?.size() }
    }

    /// Lists a directory from the shared offset on; `sink` returns false for an entry it cannot take.
    pub fn readdir(&self, sink: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        let file = self.file()?;
        if !self.is_directory {
            return Err(Errno::ENOTDIR);
        }
        self.accessed();
        let mut offset = self.offset.lock();
        let mut next = *offset;
        let result = file.readdir(*offset, &mut |entry| {
            let taken = sink(entry);
            if taken {
                next = entry.next_cookie;
            }
            taken
        });
        *offset = next;
        result
    }

    /// Attributes of the open file, also when its name is gone.
    pub fn metadata(&self) -> Result<Metadata> {
        match self.file.as_ref().and_then(|file| file.metadata()) {
            Some(result) => result,
            None => self.inode().metadata(),
        }
    }

    /// Sets the length (`ftruncate`).
    pub fn truncate(&self, size: u64) -> Result<()> {
        if size > i64::MAX as u64 || !self.status().writable() {
            return Err(Errno::EINVAL);
        }
        self.file()?.truncate(size)
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        let watchers = core::mem::take(&mut *self.watchers.lock());
        watchers.into_iter().for_each(|watcher| watcher.closed(self));
    }
}
