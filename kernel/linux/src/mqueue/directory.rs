// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The names of queues: a flat directory, which `mq_open` and `mq_unlink` use without a path, and which is mounted at
//! `/dev/mqueue`.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering};

use hadal_hal::memory::fallible;
use hadal_sync::Mutex;
use hadal_vfs::{
    Caller, Created, DirEntry, File, FileKind, Inode, InodeId, Location, MODE_STICKY, Metadata, OpenFile,
    OpenFlags, Owner, Positions, RenameFlags, SetAttr, StatFs, Timespec, make_dev,
};
use spin::Once;

use super::charge::Bounds;
use super::inode::QueueInode;
use super::queue::Queue;
use crate::process::Process;
use crate::task::Task;
use crate::{Errno, Result};

/// Device number of these files: a minor that the running numbers of file systems do not reach.
pub(super) const DEVICE: u64 = make_dev(0, 0xf_fffe);
/// `MQUEUE_MAGIC`.
const MAGIC: u64 = 0x1980_0202;
/// Longest name.
const NAME_MAX: usize = 255;
/// What Linux counts as the size of the directory: this for each entry.
const ENTRY_BYTES: usize = 20;
const ROOT_INO: u64 = 1;
/// Access mode and flags of `mq_open` that stay with the open queue.
const KEPT: OpenFlags = OpenFlags::ACCESS_MODE.union(OpenFlags::NONBLOCK);

type Names = BTreeMap<Box<[u8]>, (u64, Arc<QueueInode>)>;

/// All queues that have names.
pub(crate) struct Directory {
    /// By name, with the number that says where a listing goes on.
    names: Mutex<Names>,
    next_number: AtomicU64,
    created: Timespec,
}

/// The directory of the machine.
pub(crate) fn directory() -> &'static Arc<Directory> {
    static DIRECTORY: Once<Arc<Directory>> = Once::new();
    DIRECTORY.call_once(|| {
        let (names, next_number) = (Mutex::new(BTreeMap::new()), AtomicU64::new(FIRST_NUMBER));
        Arc::new(Directory { names, next_number, created: Timespec::now() })
    })
}

/// The root of the file system that is mounted at `/dev/mqueue`.
pub fn root() -> Arc<dyn Inode> {
    directory().clone()
}

/// Numbers of queues serve as those of inodes and as places in a listing: behind `.` and `..`.
const FIRST_NUMBER: u64 = 3;

pub(super) fn statfs() -> StatFs {
    StatFs { magic: MAGIC, block_size: 4096, fsid: DEVICE, name_max: NAME_MAX as u64, ..StatFs::default() }
}

/// A name without its slash, as the C library gives it.
fn check_name(name: &[u8]) -> Result<()> {
    match name {
        b"" => Err(Errno::ENOENT),
        b"." | b".." => Err(Errno::EACCES),
        _ if name.contains(&b'/') => Err(Errno::EACCES),
        _ if name.len() > NAME_MAX => Err(Errno::ENAMETOOLONG),
        _ => Ok(()),
    }
}

impl Directory {
    /// Opens a queue, and with `O_CREAT` makes it, of the size that `bounds` gives. What `install` does with the open queue
    /// decides whether a new one stays.
    pub(crate) fn open(
        &self,
        process: &Process,
        name: &[u8],
        flags: OpenFlags,
        mode: u32,
        bounds: impl FnOnce() -> Result<Bounds>,
        install: impl FnOnce(Arc<OpenFile>) -> Result<usize>,
    ) -> Result<usize> {
        check_name(name)?;
        let mut label = fallible::room_for(name.len() + 1)?;
        label.push(b'/');
        label.extend_from_slice(name);
        let caller = process.caller();
        let mut names = self.names.lock();
        let Some((_, inode)) = names.get(name) else {
            if !flags.contains(OpenFlags::CREATE) {
                return Err(Errno::ENOENT);
            }
            let owner = Owner { uid: caller.uid, gid: caller.gid };
            let new = self.prepare(process, name, bounds()?, mode & !caller.umask, owner)?;
            // Whoever makes a queue may use it, whatever its mode says.
            let place = Location::anonymous(new.inode.clone(), &label)?;
            let file = new.inode.clone().open(flags & KEPT)?;
            let installed = install(OpenFile::new(file, place, flags & KEPT)?)?;
            new.add_to(&mut names);
            return Ok(installed);
        };
        if flags.contains(OpenFlags::CREATE | OpenFlags::EXCLUSIVE) {
            return Err(Errno::EEXIST);
        }
        if flags.contains(OpenFlags::ACCESS_MODE) {
            return Err(Errno::EINVAL);
        }
        let place = Location::anonymous(inode.clone(), &label)?;
        drop(names);
        install(process.namespace.open_at(&caller, place, flags & KEPT)?)
    }

    /// Removes a name; the queue goes when nobody has it open.
    pub(crate) fn unlink(&self, caller: &Caller<'_>, name: &[u8]) -> Result<()> {
        check_name(name)?;
        let mut names = self.names.lock();
        let (_, inode) = names.get(name).ok_or(Errno::ENOENT)?;
        // The directory is sticky.
        if caller.uid != 0 && caller.uid != inode.owner() {
            return Err(Errno::EPERM);
        }
        let removed = names.remove(name);
        drop(names);
        if let Some((_, inode)) = removed {
            inode.unlinked();
        }
        Ok(())
    }

    /// Makes a queue that has no name yet.
    fn prepare(
        &self,
        process: &Process,
        name: &[u8],
        bounds: Bounds,
        mode: u32,
        owner: Owner,
    ) -> Result<New> {
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        let inode = QueueInode::new(number, Queue::new(process, bounds)?, mode, owner)?;
        let name = fallible::boxed_bytes(name)?;
        fallible::admit(fallible::SMALL_BYTES)?;
        Ok(New { name, number, inode })
    }
}

/// A queue that gets a name.
struct New {
    name: Box<[u8]>,
    number: u64,
    inode: Arc<QueueInode>,
}

impl New {
    fn add_to(self, names: &mut Names) {
        names.insert(self.name, (self.number, self.inode));
    }
}

impl Inode for Directory {
    fn identity(&self) -> InodeId {
        InodeId { dev: DEVICE, ino: ROOT_INO }
    }

    fn kind(&self) -> FileKind {
        FileKind::Directory
    }

    fn metadata(&self) -> Result<Metadata> {
        let mode = FileKind::Directory.mode_bits() | MODE_STICKY | 0o777;
        let size = (self.names.lock().len() + 2) * ENTRY_BYTES;
        let plain = Metadata::without_storage(self.identity(), mode, Owner::default(), self.created);
        Ok(Metadata { nlink: 2, size: size as u64, ..plain })
    }

    fn set_attr(&self, _change: &SetAttr) -> Result<()> {
        Err(Errno::EPERM)
    }

    fn lookup(&self, name: &[u8]) -> Result<Arc<dyn Inode>> {
        match self.names.lock().get(name) {
            Some((_, inode)) => Ok(inode.clone()),
            None => Err(Errno::ENOENT),
        }
    }

    fn create(&self, name: &[u8], mode: u32, owner: Owner, flags: OpenFlags) -> Result<Created> {
        let process = Task::current().try_process().ok_or(Errno::EPERM)?;
        let mut names = self.names.lock();
        if names.contains_key(name) {
            return Err(Errno::EEXIST);
        }
        let new = self.prepare(process, name, Bounds::DEFAULT, mode, owner)?;
        let created = Created { inode: new.inode.clone(), file: new.inode.clone().open(flags)? };
        new.add_to(&mut names);
        Ok(created)
    }

    fn mkdir(&self, _name: &[u8], _mode: u32, _owner: Owner) -> Result<Arc<dyn Inode>> {
        Err(Errno::EPERM)
    }

    fn symlink(&self, _name: &[u8], _target: &[u8], _owner: Owner) -> Result<Arc<dyn Inode>> {
        Err(Errno::EPERM)
    }

    fn link(&self, _name: &[u8], _target: &Arc<dyn Inode>) -> Result<()> {
        Err(Errno::EPERM)
    }

    fn unlink(&self, name: &[u8]) -> Result<()> {
        // Who may was checked by the namespace.
        Self::unlink(self, &Caller::KERNEL, name)
    }

    fn rmdir(&self, name: &[u8]) -> Result<()> {
        self.lookup(name).and(Err(Errno::ENOTDIR))
    }

    fn rename(
        &self,
        _name: &[u8],
        _new_parent: &Arc<dyn Inode>,
        _new_name: &[u8],
        _flags: RenameFlags,
    ) -> Result<()> {
        Err(Errno::EPERM)
    }

    fn open(self: Arc<Self>, _flags: OpenFlags) -> Result<Arc<dyn File>> {
        Ok(fallible::arc(Listing { directory: self })?)
    }

    fn statfs(&self) -> Result<StatFs> {
        Ok(statfs())
    }
}

/// The directory, open.
struct Listing {
    directory: Arc<Directory>,
}

impl File for Listing {
    fn positions(&self) -> Positions {
        Positions::Shared
    }

    fn readdir(&self, cookie: u64, sink: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        for (next_cookie, name) in [(1, &b"."[..]), (2, b"..")] {
            let entry = DirEntry { ino: ROOT_INO, next_cookie, kind: Some(FileKind::Directory), name };
            if cookie < next_cookie && !sink(entry) {
                return Ok(());
            }
        }
        let names = self.directory.names.lock();
        let mut found = fallible::room_for(names.len())?;
        found.extend(
            names
                .iter()
                .filter(|(_, (number, _))| *number > cookie)
                .map(|(name, (number, _))| (*number, name)),
        );
        found.sort_unstable();
        for (number, name) in found {
            let entry = DirEntry { ino: number, next_cookie: number, kind: Some(FileKind::Regular), name };
            if !sink(entry) {
                break;
            }
        }
        Ok(())
    }

    fn fsync(&self, _data_only: bool) -> Result<()> {
        Ok(())
    }
}
