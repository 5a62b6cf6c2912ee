// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who may do what: mode bits against the caller.
//!
//! File systems that decide themselves (a file server does, as the host's user) are asked; for all others the
//! mode bits are compared here.

use alloc::sync::Arc;

use super::{Follow, Location, Namespace};
use crate::errno::{Errno, Result};
use crate::flags::Access;
use crate::inode::{Inode, Owner};
use crate::metadata::{FileKind, MODE_PERMISSIONS, MODE_SET_GID, MODE_STICKY, Metadata, SetAttr, SetTime};
use crate::open_file::OpenFile;

/// On whose behalf a path is used.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Further groups.
    pub groups: &'a [u32],
    /// Mode bits that new files do not get.
    pub umask: u32,
    /// A file server knows it by other ids: its mode bits are compared here, too.
    pub is_guest: bool,
}

impl Caller<'static> {
    /// The kernel itself, which may do everything.
    pub const KERNEL: Self = Self { uid: 0, gid: 0, groups: &[], umask: 0, is_guest: false };
}

impl Caller<'_> {
    pub(super) fn is_root(&self) -> bool {
        self.uid == 0
    }

    /// Whether the file system of `inode` decides alone what the caller may do.
    pub(super) fn is_left_to(&self, inode: &Arc<dyn Inode>) -> bool {
        inode.checks_permissions() && !self.is_guest
    }

    fn in_group(&self, gid: u32) -> bool {
        self.gid == gid || self.groups.contains(&gid)
    }

    /// Who owns what the caller creates in a directory with this metadata, where the mode bits decide.
    pub(super) fn owner_in(&self, directory: &Metadata) -> Owner {
        let inherits = directory.mode & MODE_SET_GID != 0;
        Owner { uid: self.uid, gid: if inherits { directory.gid } else { self.gid } }
    }
}

/// True when the mode bits allow the caller all of the wanted access.
pub fn permits(caller: &Caller<'_>, metadata: &Metadata, wanted: Access) -> bool {
    if caller.is_root() {
        let run = wanted.contains(Access::EXECUTE) && metadata.kind() != FileKind::Directory;
        return !run || metadata.mode & 0o111 != 0;
    }
    let shift = if caller.uid == metadata.uid {
        6
    } else if caller.in_group(metadata.gid) {
        3
    } else {
        0
    };
    Access::from_bits_truncate(metadata.mode >> shift).contains(wanted)
}

/// `EACCES` unless the mode bits allow the caller all of the wanted access.
pub fn check(caller: &Caller<'_>, inode: &Arc<dyn Inode>, wanted: Access) -> Result<()> {
    // What `permits` finds without the mode bits.
    let is_free = caller.is_root() && (!wanted.contains(Access::EXECUTE) || inode.is_directory());
    if is_free || wanted.is_empty() {
        return Ok(());
    }
    if permits(caller, &inode.metadata()?, wanted) { Ok(()) } else { Err(Errno::EACCES) }
}

/// As [`check`] for passing through what is known to be a directory.
pub(super) fn check_search(caller: &Caller<'_>, directory: &Arc<dyn Inode>) -> Result<()> {
    if caller.is_root() { Ok(()) } else { check(caller, directory, Access::EXECUTE) }
}

/// Whether the caller may remove or replace `victim` in `directory` (write permission and the sticky bit).
pub(super) fn check_delete(
    caller: &Caller<'_>,
    directory: &Arc<dyn Inode>,
    victim: &Arc<dyn Inode>,
) -> Result<()> {
    let parent = directory.metadata()?;
    if !permits(caller, &parent, Access::WRITE | Access::EXECUTE) {
        return Err(Errno::EACCES);
    }
    let sticky = parent.mode & MODE_STICKY != 0 && !caller.is_root() && caller.uid != parent.uid;
    if sticky && victim.metadata()?.uid != caller.uid { Err(Errno::EPERM) } else { Ok(()) }
}

impl Namespace {
    /// `access` and `faccessat`: checks by the mode bits, whoever decides on open.
    pub fn access(
        &self,
        caller: &Caller<'_>,
        start: &Location,
        path: &[u8],
        wanted: Access,
        follow: Follow,
    ) -> Result<()> {
        let place = self.resolve(caller, start, path, follow)?;
        self.access_at(caller, &place, wanted)
    }

    /// As [`Namespace::access`] for a place that is known already.
    pub fn access_at(&self, caller: &Caller<'_>, place: &Location, wanted: Access) -> Result<()> {
        if wanted.is_empty() {
            return Ok(());
        }
        let kind = place.inode().kind();
        let stored = matches!(kind, FileKind::Regular | FileKind::Directory | FileKind::Symlink);
        if wanted.contains(Access::WRITE) && stored && place.mount().read_only() {
            return Err(Errno::EROFS);
        }
        check(caller, place.inode(), wanted)
    }

    /// What a path leads to, or the directory where it could be made, if nothing but a read-only mount keeps the caller from
    /// writing there: its mode bits do not.
    pub fn refused_by_mount(&self, caller: &Caller<'_>, start: &Location, path: &[u8]) -> Option<Location> {
        let (place, wanted) = match self.resolve(caller, start, path, Follow::Yes) {
            Ok(place) => (place, Access::WRITE),
            Err(_) => (self.resolve_entry(caller, start, path).ok()?.parent, Access::WRITE | Access::EXECUTE),
        };
        let would_permit = |metadata: Metadata| permits(caller, &metadata, wanted);
        (place.mount().read_only() && place.inode().metadata().is_ok_and(would_permit)).then_some(place)
    }

    /// Changes attributes of what a place names (`chmod`, `chown`, `utimensat`, `truncate`).
    pub fn set_attr(&self, caller: &Caller<'_>, place: &Location, change: &SetAttr) -> Result<()> {
        let change = self.check_change(caller, place, change)?;
        place.inode().set_attr(&change)
    }

    /// As [`Namespace::set_attr`] through an open file (`fchmod`, `fchown`, `futimens`).
    pub fn set_attr_open(&self, caller: &Caller<'_>, file: &OpenFile, change: &SetAttr) -> Result<()> {
        let change = self.check_change(caller, file.location(), change)?;
        match file.file().ok().and_then(|open| open.set_attr(&change)) {
            Some(result) => result,
            None => file.inode().set_attr(&change),
        }
    }

    fn check_change(&self, caller: &Caller<'_>, place: &Location, change: &SetAttr) -> Result<SetAttr> {
        if place.mount().read_only() {
            return Err(Errno::EROFS);
        }
        let mut change = *change;
        change.mode = change.mode.map(|mode| mode & MODE_PERMISSIONS);
        if change.size.is_some() {
            match place.inode().kind() {
                FileKind::Regular => {}
                FileKind::Directory => return Err(Errno::EISDIR),
                _ => return Err(Errno::EINVAL),
            }
        }
        if caller.is_left_to(place.inode()) || caller.is_root() {
            return Ok(change);
        }
        let now = place.inode().metadata()?;
        let owner = caller.uid == now.uid;
        if change.uid.is_some_and(|uid| !owner || uid != now.uid) {
            return Err(Errno::EPERM);
        }
        if change.gid.is_some_and(|gid| !owner || !caller.in_group(gid)) {
            return Err(Errno::EPERM);
        }
        if change.mode.is_some() && !owner {
            return Err(Errno::EPERM);
        }
        if change.size.is_some() && !permits(caller, &now, Access::WRITE) {
            return Err(Errno::EACCES);
        }
        let times = [change.atime, change.mtime];
        let only_now = times.iter().flatten().all(|time| *time == SetTime::Now);
        if times.iter().any(Option::is_some) && !owner {
            if !only_now {
                return Err(Errno::EPERM);
            }
            if !permits(caller, &now, Access::WRITE) {
                return Err(Errno::EACCES);
            }
        }
        Ok(change)
    }
}
