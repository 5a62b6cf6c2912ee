// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files: what an inode becomes when it is opened.
//!
//! A [`File`] either has positions (it implements [`File::read_at`] and [`File::write_at`]; the offset is kept by
//! [`crate::OpenFile`]) or is a stream (it implements [`File::read`] and [`File::write`]). Everything else has a
//! default that is what Linux answers for a file without that ability.

use alloc::string::String;
use alloc::sync::Arc;
use core::any::Any;
use core::sync::atomic::AtomicU32;

use hadal_hal::memory::frames::Block;
use hadal_mem::space::PageSource;
use hadal_sync::{Mutex, WaitQueue};

use crate::errno::{Errno, Result};
use crate::flags::PollEvents;
use crate::metadata::{FileKind, Metadata, SetAttr};
use crate::open_file::SeekFrom;
use crate::seals::Seals;

/// Whether a stream may put its caller to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocking {
    /// Wait until at least one byte can be moved.
    Wait,
    /// Fail with `EAGAIN` instead (`O_NONBLOCK`).
    Never,
}

/// One entry of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirEntry<'a> {
    /// Number of the inode.
    pub ino: u64,
    /// Where reading goes on after this entry (`d_off`).
    pub next_cookie: u64,
    /// The type, or `None` when the file system does not say.
    pub kind: Option<FileKind>,
    /// The name, `.` and `..` included.
    pub name: &'a [u8],
}

/// What `fallocate` shall do with a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocateMode {
    /// Reserve storage; the file grows when the range ends behind its end.
    Extend,
    /// Reserve storage and keep the length (`FALLOC_FL_KEEP_SIZE`).
    KeepSize,
    /// Make the range a hole, keep the length (`FALLOC_FL_PUNCH_HOLE`).
    PunchHole,
    /// Fill the range with zeros (`FALLOC_FL_ZERO_RANGE`).
    ZeroRange,
}

/// The third argument of `ioctl`: a number, or an address in the program's memory.
pub trait IoctlArgument {
    /// The argument as a number.
    fn value(&self) -> usize;
    /// Reads the bytes it points to.
    fn read(&mut self, buffer: &mut [u8]) -> Result<()>;
    /// Writes to where it points to.
    fn write(&mut self, data: &[u8]) -> Result<()>;
}

/// Program memory that bytes of a file go to, from the front on.
pub trait Destination {
    /// Copies bytes of a page.
    fn put(&mut self, page: &Block, within: usize, len: usize) -> Result<()>;
    /// Copies bytes of a file that is kept in one piece.
    fn put_bytes(&mut self, bytes: &[u8]) -> Result<()>;
    /// Fills bytes with zeros, for a hole.
    fn put_zeros(&mut self, len: usize) -> Result<()>;
}

/// Which positions a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Positions {
    /// None: bytes come and go in order, and `pread` and `lseek` fail.
    None,
    /// None either, but `lseek` says 0.
    NoneAndSeekIgnored,
    /// Any; those who share the open file share the next one.
    Shared,
    /// Any. The file itself keeps the next one, for others share it that this kernel does not know: [`File::read`],
    /// [`File::write`] and [`File::seek`] use and move it, and writing observes `O_APPEND` by itself.
    Kept,
    /// Any, which make no difference, and `lseek` says 0: `/dev/null` and its like.
    Ignored,
}

/// An open file.
pub trait File: Send + Sync {
    /// Which positions the file has, always the same.
    fn positions(&self) -> Positions {
        Positions::None
    }

    /// Reads at a position; short only at the end of the file.
    fn read_at(&self, _offset: u64, _buffer: &mut [u8]) -> Result<usize> {
        Err(Errno::ESPIPE)
    }

    /// As [`File::read_at`], for at most `len` bytes from where the file has them in memory to where they go; fewer also where
    /// the destination takes no more. A page is held while it is copied, and no lock: the memory may be this file's, and not
    /// there yet. `None`: the file has nothing in memory.
    fn read_direct(&self, _offset: u64, _len: usize, _to: &mut dyn Destination) -> Option<Result<usize>> {
        None
    }

    /// Writes at a position; returns how much was written.
    fn write_at(&self, _offset: u64, _data: &[u8]) -> Result<usize> {
        Err(Errno::ESPIPE)
    }

    /// Writes at the end; returns the position behind the data and how much was written. The caller holds
    /// [`File::append_turn`].
    fn append(&self, data: &[u8]) -> Result<(u64, usize)> {
        let end = self.size()?;
        let written = self.write_at(end, data)?;
        Ok((end + written as u64, written))
    }

    /// Moves the position that the file keeps; returns the new one.
    fn seek(&self, _from: SeekFrom) -> Result<u64> {
        Err(Errno::ESPIPE)
    }

    /// `O_APPEND` is turned on or off, for a file that keeps its position.
    fn set_append(&self, _on: bool) -> Result<()> {
        Ok(())
    }

    /// What one append to the file, in however many steps, holds against all others.
    fn append_turn(&self) -> Option<&Mutex<()>> {
        None
    }

    /// The length in bytes, for `SEEK_END`. Seekable files have one.
    fn size(&self) -> Result<u64> {
        match self.metadata() {
            Some(metadata) => Ok(metadata?.size),
            None => Ok(0),
        }
    }

    /// Reads from a stream: any number of bytes but zero, zero at the end.
    fn read(&self, _buffer: &mut [u8], _blocking: Blocking) -> Result<usize> {
        Err(Errno::EINVAL)
    }

    /// Writes to a stream; `EPIPE` when nobody can read any more (raising SIGPIPE is up to the caller).
    fn write(&self, _data: &[u8], _blocking: Blocking) -> Result<usize> {
        Err(Errno::EINVAL)
    }

    /// Lists a directory from `cookie` on (0 is the start) until `sink` returns false: that entry is not taken
    /// and will be the first one of the next call.
    fn readdir(&self, _cookie: u64, _sink: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        Err(Errno::ENOTDIR)
    }

    /// What can be done now without waiting.
    fn poll(&self) -> PollEvents {
        PollEvents::ALWAYS_READY
    }

    /// Where to wait for a change of [`File::poll`]: one queue, two where reading and writing have one each, none when it
    /// never changes.
    fn wait_queues(&self) -> [Option<&WaitQueue>; 2] {
        [None, None]
    }

    /// Whether it is worth waiting for: `epoll_ctl` refuses files that are always ready by their kind.
    fn is_pollable(&self) -> bool {
        self.wait_queues().iter().any(Option::is_some)
    }

    /// The file itself, for calls that are about one kind of file (`epoll_ctl`, `timerfd_settime`, `recvmsg`).
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    /// The calling process has closed a descriptor of it; others may be left, there and elsewhere.
    fn descriptor_closed(&self) {}

    /// Adds lines to what `/proc/self/fdinfo` shows.
    fn describe(&self, _lines: &mut String) -> Result<()> {
        Ok(())
    }

    /// A device's own requests.
    fn ioctl(&self, _request: u32, _argument: &mut dyn IoctlArgument) -> Result<usize> {
        Err(Errno::ENOTTY)
    }

    /// What counts its changes, and perhaps those of others, if it keeps the time of the last access.
    fn changes(&self) -> Option<&'static AtomicU32> {
        None
    }

    /// Somebody reads it, or maps it. Returns whether that needs not be said again before the next change.
    fn accessed(&self) -> bool {
        true
    }

    /// Brings written data (and, unless `data_only`, attributes) to stable storage.
    fn fsync(&self, _data_only: bool) -> Result<()> {
        Err(Errno::EINVAL)
    }

    /// Sets the length.
    fn truncate(&self, _size: u64) -> Result<()> {
        Err(Errno::EINVAL)
    }

    /// Reserves or releases storage.
    fn allocate(&self, _mode: AllocateMode, _offset: u64, _len: u64) -> Result<()> {
        Err(Errno::EOPNOTSUPP)
    }

    /// Attributes, where the open file knows them better than its inode (a file without a name any more);
    /// `None` means: ask the inode.
    fn metadata(&self) -> Option<Result<Metadata>> {
        None
    }

    /// Changes attributes, where the open file can do it without its name; `None` means: ask the inode.
    fn set_attr(&self, _change: &SetAttr) -> Option<Result<()>> {
        None
    }

    /// The pages of the file for a mapping; `None` when it cannot be mapped (`ENODEV`).
    fn page_source(self: Arc<Self>) -> Option<Arc<dyn PageSource>> {
        None
    }

    /// True when changes through a shared mapping reach the file, so that `MAP_SHARED` with `PROT_WRITE` is
    /// allowed (else `ENODEV`).
    fn maps_shared_writable(&self) -> bool {
        false
    }

    /// The pages of the file for a shared mapping that writes there, or may after `mprotect`: as long as somebody has them the content
    /// is not sealed. `EPERM` if it is.
    fn writable_page_source(self: Arc<Self>) -> Result<Option<Arc<dyn PageSource>>> {
        Ok(self.page_source())
    }

    /// What nobody can do to the file any more (`F_GET_SEALS`); `EINVAL` if it is not of a kind that has seals.
    fn seals(&self) -> Result<Seals> {
        Err(Errno::EINVAL)
    }

    /// Adds seals (`F_ADD_SEALS`): `EPERM` if there are to be no more, `EBUSY` if mappings change content that is to stay.
    fn add_seals(&self, _seals: Seals) -> Result<()> {
        Err(Errno::EINVAL)
    }

    /// Pipe capacity in bytes (`F_GETPIPE_SZ`).
    fn pipe_capacity(&self) -> Result<usize> {
        Err(Errno::EBADF)
    }

    /// Changes the pipe capacity (`F_SETPIPE_SZ`), returns the new one.
    fn set_pipe_capacity(&self, _bytes: usize) -> Result<usize> {
        Err(Errno::EBADF)
    }
}
