// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files: inodes, open files, paths, and the file systems behind them.
//!
//! A file system implements [`Inode`] and [`File`]; a [`Namespace`] mounts several of them in one tree and does
//! everything that takes a path; an [`OpenFile`] is what a descriptor of an [`FdTable`] points to. The file
//! systems are [`ninep`] (the host's files), [`tmpfs`] (memory), [`synthetic`] (`/proc` and `/sys`, filled in by the
//! Linux personality) and [`devfs`] (`/dev`). [`pipe`] makes pipes, [`cpio`] unpacks an initramfs, [`memory_file`] shows what a boot
//! loader left in memory.
//!
//! Nothing here knows system calls or program memory: buffers are kernel slices and errors are [`Errno`]s.
//! All of it runs in threads: functions may sleep, and none is called from an interrupt handler.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod device_numbers;
mod errno;
mod fd_table;
mod file;
mod flags;
mod inode;
mod metadata;
mod open_file;
pub mod page_cache;
mod ring;
mod seals;
mod transfer;
mod turns;

pub mod cpio;
pub mod devfs;
pub mod memory_file;
pub mod namespace;
pub mod ninep;
pub mod pipe;
pub mod synthetic;
pub mod tmpfs;

#[cfg(test)]
mod testing;

pub use errno::{Errno, Result};
pub use fd_table::{Descriptors, FdTable, MAX_DESCRIPTORS};
pub use file::{AllocateMode, Blocking, Destination, DirEntry, File, IoctlArgument, Positions};
pub use flags::{Access, MountFlags, OpenFlags, PollEvents, RenameFlags};
pub use inode::{Created, Inode, InodeId, Owner, Walked};
pub use metadata::{
    FileKind, MODE_PERMISSIONS, MODE_SET_GID, MODE_SET_UID, MODE_STICKY, MODE_TYPE_MASK, Metadata, SetAttr,
    SetTime, StatFs, Timespec, dev_major, dev_minor, make_dev,
};
pub use namespace::{Caller, Follow, Location, Mount, MountTable, Namespace};
pub use open_file::{OpenFile, SeekFrom, Watcher};
pub use seals::Seals;
pub use tmpfs::{AccessTimes, TmpFs};
pub use transfer::{Reading, Writing};
