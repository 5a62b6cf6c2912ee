// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Making, moving and removing entries: `mkdir`, `symlink`, `link`, `unlink`, `rmdir`, `rename`.
//!
//! Where the file system checks permissions itself and can be written to, it is asked straight away; the extra
//! look-ups are for the errors Linux prefers (an existing name is `EEXIST` even on a read-only file system).

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::access::{self, Caller};
use super::walk::Entry;
use super::{Follow, Location, Namespace, PATH_MAX, is_below};
use crate::errno::{Errno, Result};
use crate::flags::{Access, RenameFlags};
use crate::inode::{Inode, Owner};
use crate::metadata::{FileKind, MODE_PERMISSIONS, MODE_STICKY};

impl Namespace {
    /// Creates a directory.
    pub fn mkdir(&self, caller: &Caller<'_>, start: &Location, path: &[u8], mode: u32) -> Result<()> {
        let entry = self.resolve_entry(caller, start, path)?;
        let owner = self.check_new(caller, &entry)?;
        let mode = mode & (0o777 | MODE_STICKY) & !caller.umask;
        entry.parent.inode().mkdir(&entry.name, mode, owner).map(drop)
    }

    /// Creates a name for a named pipe or a socket; `EPERM` where the file system has none.
    pub fn make_special(
        &self,
        caller: &Caller<'_>,
        start: &Location,
        path: &[u8],
        kind: FileKind,
        mode: u32,
    ) -> Result<Arc<dyn Inode>> {
        let entry = self.resolve_entry(caller, start, path)?;
        let owner = self.check_new(caller, &entry)?;
        if entry.must_be_directory {
            return Err(Errno::ENOENT);
        }
        let mode = mode & MODE_PERMISSIONS & !caller.umask;
        entry.parent.inode().make_special(&entry.name, kind, mode, owner)
    }

    /// Creates a symbolic link with the text `target`.
    pub fn symlink(&self, caller: &Caller<'_>, target: &[u8], start: &Location, path: &[u8]) -> Result<()> {
        match target.len() {
            0 => return Err(Errno::ENOENT),
            len if len > PATH_MAX => return Err(Errno::ENAMETOOLONG),
            _ => {}
        }
        let entry = self.resolve_entry(caller, start, path)?;
        let owner = self.check_new(caller, &entry)?;
        if entry.must_be_directory {
            return Err(Errno::ENOENT);
        }
        entry.parent.inode().symlink(&entry.name, target, owner).map(drop)
    }

    /// Gives the inode at `old` one more name.
    pub fn link(&self, caller: &Caller<'_>, old: &Location, start: &Location, path: &[u8]) -> Result<()> {
        let entry = self.resolve_entry(caller, start, path)?;
        self.check_new(caller, &entry)?;
        if entry.must_be_directory {
            return Err(Errno::ENOENT);
        }
        if !same_mount(old, &entry.parent) {
            return Err(Errno::EXDEV);
        }
        if old.inode().is_directory() {
            return Err(Errno::EPERM);
        }
        entry.parent.inode().link(&entry.name, old.inode())
    }

    /// Removes a name that is not a directory's.
    pub fn unlink(&self, caller: &Caller<'_>, start: &Location, path: &[u8]) -> Result<()> {
        let entry = self.resolve_entry(caller, start, path)?;
        if entry.is_special() {
            return Err(Errno::EISDIR);
        }
        if entry.must_be_directory {
            let place = self.resolve(caller, &entry.parent, &entry.name, Follow::No)?;
            return Err(if place.inode().is_directory() { Errno::EISDIR } else { Errno::ENOTDIR });
        }
        self.check_remove(caller, &entry)?;
        entry.parent.inode().unlink(&entry.name)
    }

    /// Removes an empty directory.
    pub fn rmdir(&self, caller: &Caller<'_>, start: &Location, path: &[u8]) -> Result<()> {
        let entry = self.resolve_entry(caller, start, path)?;
        match &entry.name[..] {
            b"" => return Err(Errno::EBUSY),
            b"." => return Err(Errno::EINVAL),
            b".." => return Err(Errno::ENOTEMPTY),
            _ => {}
        }
        self.check_remove(caller, &entry)?;
        entry.parent.inode().rmdir(&entry.name)
    }

    /// Moves `old_path` to `new_path`.
    pub fn rename(
        &self,
        caller: &Caller<'_>,
        (old_start, old_path): (&Location, &[u8]),
        (new_start, new_path): (&Location, &[u8]),
        flags: RenameFlags,
    ) -> Result<()> {
        let known = RenameFlags::NO_REPLACE | RenameFlags::EXCHANGE;
        if flags.contains(known) || !known.contains(flags) {
            return Err(Errno::EINVAL);
        }
        let old = self.resolve_entry(caller, old_start, old_path)?;
        let new = self.resolve_entry(caller, new_start, new_path)?;
        if !same_mount(&old.parent, &new.parent) {
            return Err(Errno::EXDEV);
        }
        if old.is_special() || new.is_special() {
            let taken = flags.contains(RenameFlags::NO_REPLACE) && new.is_special();
            return Err(if taken { Errno::EEXIST } else { Errno::EBUSY });
        }
        self.check_remove(caller, &old)?;
        if old.must_be_directory || new.must_be_directory {
            let source = self.resolve(caller, &old.parent, &old.name, Follow::No)?;
            if !source.inode().is_directory() {
                return Err(Errno::ENOTDIR);
            }
        }
        let (from, to) = (old.path(), new.path());
        if is_below(&to, &from) {
            return Err(Errno::EINVAL);
        }
        if is_below(&from, &to) {
            let exchange = flags.contains(RenameFlags::EXCHANGE);
            return Err(if exchange { Errno::EINVAL } else { Errno::ENOTEMPTY });
        }
        self.check_target(caller, &new, &to)?;
        old.parent.inode().rename(&old.name, new.parent.inode(), &new.name, flags)
    }

    /// The text of the symbolic link a path names.
    pub fn readlink(&self, caller: &Caller<'_>, start: &Location, path: &[u8]) -> Result<Vec<u8>> {
        let place = self.resolve(caller, start, path, Follow::No)?;
        match place.inode().kind() {
            FileKind::Symlink => place.inode().readlink(),
            _ => Err(Errno::EINVAL),
        }
    }

    /// Whether the caller may add to a directory, and who will own the new entry.
    pub(super) fn check_add(&self, caller: &Caller<'_>, parent: &Location) -> Result<Owner> {
        if parent.mount().read_only() {
            return Err(Errno::EROFS);
        }
        if caller.is_left_to(parent.inode()) {
            return Ok(Owner { uid: caller.uid, gid: caller.gid });
        }
        let directory = parent.inode().metadata()?;
        if !access::permits(caller, &directory, Access::WRITE | Access::EXECUTE) {
            return Err(Errno::EACCES);
        }
        Ok(caller.owner_in(&directory))
    }

    /// As [`Namespace::check_add`] for an entry that must not exist yet.
    fn check_new(&self, caller: &Caller<'_>, entry: &Entry) -> Result<Owner> {
        if entry.is_special() {
            return Err(Errno::EEXIST);
        }
        let server_tells = caller.is_left_to(entry.parent.inode()) && !entry.parent.mount().read_only();
        if !server_tells || self.carries_mount(&entry.path()) {
            match self.resolve(caller, &entry.parent, &entry.name, Follow::No) {
                Ok(_) => return Err(Errno::EEXIST),
                Err(Errno::ENOENT) => {}
                Err(error) => return Err(error),
            }
        }
        self.check_add(caller, &entry.parent)
    }

    /// Whether the caller may take an entry away.
    fn check_remove(&self, caller: &Caller<'_>, entry: &Entry) -> Result<()> {
        if self.carries_mount(&entry.path()) {
            return Err(Errno::EBUSY);
        }
        let parent = &entry.parent;
        if caller.is_left_to(parent.inode()) && !parent.mount().read_only() {
            return Ok(());
        }
        let victim = self.resolve(caller, parent, &entry.name, Follow::No)?;
        if parent.mount().read_only() {
            return Err(Errno::EROFS);
        }
        access::check_delete(caller, parent.inode(), victim.inode())
    }

    /// Whether the caller may put something in the place of `new`, whether it exists or not.
    fn check_target(&self, caller: &Caller<'_>, new: &Entry, path: &[u8]) -> Result<()> {
        if self.carries_mount(path) {
            return Err(Errno::EBUSY);
        }
        if caller.is_left_to(new.parent.inode()) {
            return Ok(());
        }
        match self.resolve(caller, &new.parent, &new.name, Follow::No) {
            Ok(victim) => access::check_delete(caller, new.parent.inode(), victim.inode()),
            Err(Errno::ENOENT) => self.check_add(caller, &new.parent).map(drop),
            Err(error) => Err(error),
        }
    }

    /// True when a mount is on the path or below it.
    fn carries_mount(&self, path: &[u8]) -> bool {
        self.mounts().point(path).is_some()
    }
}

fn same_mount(a: &Location, b: &Location) -> bool {
    Arc::ptr_eq(a.mount(), b.mount())
}
