// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A file system in memory, for `/tmp`, `/dev/shm` and an unpacked initramfs.
//!
//! [`TmpFs`] holds the limit and the counters, `Node` is its one kind of inode. File content lies in 4 KiB
//! frames (`pages`) that a mapping may share, so `MAP_SHARED` and `read` see the same bytes; holes take no
//! frame. `directory` holds the entries.
//!
//! Lock order: the tree lock of the file system (held by whatever changes entries), then the entries of one
//! directory, then the pages of one file, then attributes. No two directories are locked at once.

mod changes;
mod directory;
mod file;
mod pages;

use alloc::boxed::Box;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use hadal_hal::memory::fallible;
use hadal_hal::memory::frames::FrameSource;
use hadal_hal::sync::SpinLock;
use hadal_sync::Mutex;

use crate::device_numbers;
use crate::errno::{Errno, Result};
use crate::file::File;
use crate::flags::{OpenFlags, RenameFlags};
use crate::inode::{Created, Inode, InodeId, Owner};
use crate::metadata::{FileKind, MODE_PERMISSIONS, Metadata, SetAttr, SetTime, StatFs, Timespec};
use crate::namespace::NAME_MAX;
use crate::pipe::named;
use crate::seals::Seals;
use crate::turns::Turns;
use directory::Entries;
use pages::{PAGE_SIZE, Pages};

/// The magic number `statfs` reports.
pub const TMPFS_MAGIC: u64 = 0x0102_1994;

/// When the time of the last access changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessTimes {
    /// At the first access after a change, and once a day (`relatime`).
    #[default]
    Relative,
    /// Always (`strictatime`).
    Strict,
}

/// What `relatime` means by a day, in seconds.
const DAY: i64 = 24 * 60 * 60;

/// A file system in memory.
pub struct TmpFs {
    dev: u64,
    frames: &'static dyn FrameSource,
    limit_pages: u64,
    used_pages: AtomicU64,
    /// Most inodes: one for each page, as on Linux, but enough for a small file system.
    limit_inodes: u64,
    inodes: AtomicU64,
    next_ino: AtomicU64,
    /// Held by everything that changes entries.
    tree: Mutex<()>,
    access_times: AccessTimes,
    /// The seals of new files.
    first_seals: Seals,
    /// Who appends to which file.
    appends: Turns,
}

impl TmpFs {
    /// Makes an empty file system that takes frames from `frames`, at most `limit_bytes` of them for file
    /// content, and returns its root directory.
    pub fn create(
        frames: &'static dyn FrameSource,
        limit_bytes: u64,
        root_mode: u32,
        root_owner: Owner,
    ) -> Result<Arc<dyn Inode>> {
        let (times, seals) = (AccessTimes::Relative, Seals::SEAL);
        Self::create_with(frames, limit_bytes, root_mode, root_owner, times, seals)
    }

    /// The same, with a choice of times and of the seals that files have at first.
    pub fn create_with(
        frames: &'static dyn FrameSource,
        limit_bytes: u64,
        root_mode: u32,
        root_owner: Owner,
        access_times: AccessTimes,
        first_seals: Seals,
    ) -> Result<Arc<dyn Inode>> {
        let fs = fallible::arc(Self {
            dev: device_numbers::next(),
            frames,
            limit_pages: limit_bytes / PAGE_SIZE,
            used_pages: AtomicU64::new(0),
            limit_inodes: (limit_bytes / PAGE_SIZE).max(1024),
            inodes: AtomicU64::new(0),
            next_ino: AtomicU64::new(1),
            tree: Mutex::new(()),
            access_times,
            first_seals,
            appends: Turns::new(),
        })?;
        Node::new(&fs, Body::Directory(Mutex::new(Entries::new())), root_mode, root_owner)
            .map(|root| root as _)
    }
}

/// The part of an inode that depends on its type.
enum Body {
    Regular(Mutex<Pages>),
    Directory(Mutex<Entries>),
    Symlink(Box<[u8]>),
    /// A named pipe or a socket: a name, and nothing behind it here.
    Special(FileKind),
}

/// Attributes that change.
struct Attributes {
    permissions: u32,
    uid: u32,
    gid: u32,
    nlink: u64,
    atime: Timespec,
    mtime: Timespec,
    ctime: Timespec,
}

/// An inode.
pub(crate) struct Node {
    this: Weak<Node>,
    fs: Arc<TmpFs>,
    ino: u64,
    changes: &'static AtomicU32,
    attributes: SpinLock<Attributes>,
    /// What may write to the content through shared mappings.
    writers: AtomicU32,
    body: Body,
}

impl Node {
    fn new(fs: &Arc<TmpFs>, body: Body, mode: u32, owner: Owner) -> Result<Arc<Self>> {
        let now = Timespec::now();
        let attributes = Attributes {
            permissions: mode & MODE_PERMISSIONS,
            uid: owner.uid,
            gid: owner.gid,
            nlink: if matches!(body, Body::Directory(_)) { 2 } else { 1 },
            atime: now,
            mtime: now,
            ctime: now,
        };
        let node = fallible::arc_cyclic(|this| {
            fs.inodes.fetch_add(1, Ordering::Relaxed);
            let ino = fs.next_ino.fetch_add(1, Ordering::Relaxed);
            Self {
                this: this.clone(),
                fs: fs.clone(),
                ino,
                changes: changes::of(ino),
                attributes: SpinLock::new(attributes),
                writers: AtomicU32::new(0),
                body,
            }
        });
        Ok(node?)
    }

    fn entries(&self) -> Result<&Mutex<Entries>> {
        match &self.body {
            Body::Directory(entries) => Ok(entries),
            _ => Err(Errno::ENOTDIR),
        }
    }

    fn pages(&self) -> Result<&Mutex<Pages>> {
        match &self.body {
            Body::Regular(pages) => Ok(pages),
            Body::Directory(_) => Err(Errno::EISDIR),
            Body::Symlink(_) | Body::Special(_) => Err(Errno::EINVAL),
        }
    }

    /// Notes a change of the content, now.
    fn touch_content(&self) {
        let now = Timespec::now();
        let mut attributes = self.attributes.lock();
        attributes.mtime = now;
        attributes.ctime = now;
        changes::count(self.changes);
    }

    /// Notes that the content is read, now.
    fn touch_access(&self) {
        let now = Timespec::now();
        let mut attributes = self.attributes.lock();
        let Attributes { atime, mtime, ctime, .. } = *attributes;
        let is_due = atime <= mtime.max(ctime) || now.sec - atime.sec >= DAY;
        if is_due || self.fs.access_times == AccessTimes::Strict {
            attributes.atime = now;
        }
    }

    /// Adds to the number of names, and notes the change.
    fn change_links(&self, by: i64) {
        let now = Timespec::now();
        let mut attributes = self.attributes.lock();
        attributes.nlink = attributes.nlink.saturating_add_signed(by);
        attributes.ctime = now;
        changes::count(self.changes);
    }

    fn truncate(&self, size: u64) -> Result<()> {
        self.pages()?.lock().truncate(size)?;
        self.touch_content();
        Ok(())
    }

    /// Adds a new node to this directory; `EEXIST` when the name is taken, `ENOENT` in a removed directory.
    fn add(&self, name: &[u8], body: Body, mode: u32, owner: Owner) -> Result<Arc<Self>> {
        if name.len() > NAME_MAX {
            return Err(Errno::ENAMETOOLONG);
        }
        let entries = self.entries()?;
        let _tree = self.fs.tree.lock();
        entries.lock().check_free(name)?;
        if self.fs.inodes.load(Ordering::Relaxed) >= self.fs.limit_inodes {
            return Err(Errno::ENOSPC);
        }
        let node = Self::new(&self.fs, body, mode, owner)?;
        if let Body::Directory(own) = &node.body {
            own.lock().parent = self.this.clone();
        }
        entries.lock().insert(name, node.clone())?;
        if matches!(node.body, Body::Directory(_)) {
            self.change_links(1);
        }
        self.touch_content();
        Ok(node)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.fs.inodes.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Inode for Node {
    fn identity(&self) -> InodeId {
        InodeId { dev: self.fs.dev, ino: self.ino }
    }

    fn kind(&self) -> FileKind {
        match self.body {
            Body::Regular(_) => FileKind::Regular,
            Body::Directory(_) => FileKind::Directory,
            Body::Symlink(_) => FileKind::Symlink,
            Body::Special(kind) => kind,
        }
    }

    fn metadata(&self) -> Result<Metadata> {
        let (size, pages) = match &self.body {
            Body::Regular(pages) => {
                let pages = pages.lock();
                (pages.size(), pages.allocated())
            }
            Body::Directory(entries) => (20 * (2 + entries.lock().len() as u64), 0),
            Body::Symlink(target) => (target.len() as u64, 0),
            Body::Special(_) => (0, 0),
        };
        let attributes = self.attributes.lock();
        Ok(Metadata {
            dev: self.fs.dev,
            ino: self.ino,
            mode: self.kind().mode_bits() | attributes.permissions,
            nlink: attributes.nlink,
            uid: attributes.uid,
            gid: attributes.gid,
            rdev: 0,
            size,
            blksize: PAGE_SIZE,
            blocks: pages * (PAGE_SIZE / 512),
            atime: attributes.atime,
            mtime: attributes.mtime,
            ctime: attributes.ctime,
        })
    }

    fn set_attr(&self, change: &SetAttr) -> Result<()> {
        if let Some(size) = change.size {
            self.truncate(size)?;
        }
        let now = Timespec::now();
        let time = |set: SetTime| match set {
            SetTime::Now => now,
            SetTime::At(time) => time,
        };
        let mut attributes = self.attributes.lock();
        if let Some(mode) = change.mode {
            attributes.permissions = mode & MODE_PERMISSIONS;
        }
        attributes.uid = change.uid.unwrap_or(attributes.uid);
        attributes.gid = change.gid.unwrap_or(attributes.gid);
        attributes.atime = change.atime.map_or(attributes.atime, time);
        attributes.mtime = change.mtime.map_or(attributes.mtime, time);
        attributes.ctime = now;
        changes::count(self.changes);
        Ok(())
    }

    fn lookup(&self, name: &[u8]) -> Result<Arc<dyn Inode>> {
        let node = self.entries()?.lock().get(name).ok_or(Errno::ENOENT)?;
        Ok(node)
    }

    fn create(&self, name: &[u8], mode: u32, owner: Owner, _flags: OpenFlags) -> Result<Created> {
        let node = self.add(name, Body::Regular(Mutex::new(Pages::new(&self.fs))), mode, owner)?;
        Ok(Created { inode: node.clone(), file: node })
    }

    fn mkdir(&self, name: &[u8], mode: u32, owner: Owner) -> Result<Arc<dyn Inode>> {
        let node = self.add(name, Body::Directory(Mutex::new(Entries::new())), mode, owner)?;
        Ok(node)
    }

    fn symlink(&self, name: &[u8], target: &[u8], owner: Owner) -> Result<Arc<dyn Inode>> {
        let node = self.add(name, Body::Symlink(fallible::boxed_bytes(target)?), 0o777, owner)?;
        Ok(node)
    }

    fn make_special(&self, name: &[u8], kind: FileKind, mode: u32, owner: Owner) -> Result<Arc<dyn Inode>> {
        let node = self.add(name, Body::Special(kind), mode, owner)?;
        Ok(node)
    }

    fn link(&self, name: &[u8], target: &Arc<dyn Inode>) -> Result<()> {
        let target = target.downcast_ref::<Self>().filter(|node| Arc::ptr_eq(&node.fs, &self.fs));
        let target = target.and_then(|node| node.this.upgrade()).ok_or(Errno::EXDEV)?;
        self.link_node(name, target)
    }

    fn unlink(&self, name: &[u8]) -> Result<()> {
        self.remove(name, false)
    }

    fn rmdir(&self, name: &[u8]) -> Result<()> {
        self.remove(name, true)
    }

    fn rename(
        &self,
        name: &[u8],
        new_parent: &Arc<dyn Inode>,
        new_name: &[u8],
        flags: RenameFlags,
    ) -> Result<()> {
        let target = new_parent.downcast_ref::<Self>().filter(|node| Arc::ptr_eq(&node.fs, &self.fs));
        self.rename_to(name, target.ok_or(Errno::EXDEV)?, new_name, flags)
    }

    fn readlink(&self) -> Result<Vec<u8>> {
        match &self.body {
            Body::Symlink(target) => {
                self.touch_access();
                Ok(fallible::copied(target)?)
            }
            _ => Err(Errno::EINVAL),
        }
    }

    fn open(self: Arc<Self>, flags: OpenFlags) -> Result<Arc<dyn File>> {
        match self.body {
            Body::Symlink(_) => return Err(Errno::ELOOP),
            Body::Special(FileKind::Fifo) => return named::open(self.identity(), flags),
            Body::Special(_) => return Err(Errno::ENXIO),
            Body::Regular(_) if flags.contains(OpenFlags::TRUNCATE) => self.truncate(0)?,
            _ => {}
        }
        Ok(self)
    }

    fn statfs(&self) -> Result<StatFs> {
        let used = self.fs.used_pages.load(Ordering::Relaxed);
        let free = self.fs.limit_pages.saturating_sub(used);
        let inodes = self.fs.inodes.load(Ordering::Relaxed);
        Ok(StatFs {
            magic: TMPFS_MAGIC,
            block_size: PAGE_SIZE,
            blocks: self.fs.limit_pages,
            blocks_free: free,
            blocks_available: free,
            files: self.fs.limit_inodes,
            files_free: self.fs.limit_inodes.saturating_sub(inodes),
            fsid: self.fs.dev,
            name_max: NAME_MAX as u64,
        })
    }
}

#[cfg(test)]
mod tests;
