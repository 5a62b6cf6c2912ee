// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Opening by path: `open`, `openat`, `creat`.

use alloc::sync::Arc;
use alloc::vec::Vec;

use hadal_hal::memory::fallible;

use super::access::{self, Caller};
use super::walk::Entry;
use super::{Follow, LINKS_MAX, Location, Namespace};
use crate::errno::{Errno, Result};
use crate::flags::{Access, MountFlags, OpenFlags};
use crate::metadata::{FileKind, MODE_PERMISSIONS};
use crate::open_file::OpenFile;

/// What creating came to.
enum Created {
    File(Arc<OpenFile>),
    /// The name is a link: go on with its text in its directory, or at the place it jumps to.
    Link(Vec<u8>, Location),
    Jump(Location),
}

impl Namespace {
    /// Opens, and with `O_CREAT` creates, the file a path names.
    pub fn open(
        &self,
        caller: &Caller<'_>,
        start: &Location,
        path: &[u8],
        flags: OpenFlags,
        mode: u32,
    ) -> Result<Arc<OpenFile>> {
        if flags.contains(OpenFlags::TEMPORARY) && !flags.contains(OpenFlags::PATH) {
            return Err(Errno::EOPNOTSUPP);
        }
        if flags.contains(OpenFlags::CREATE) && !flags.contains(OpenFlags::PATH) {
            return self.open_create(caller, start, path, flags, mode);
        }
        let follow = if flags.contains(OpenFlags::NO_FOLLOW) { Follow::No } else { Follow::Yes };
        let place = self.resolve(caller, start, path, follow)?;
        self.open_at(caller, place, flags)
    }

    /// Opens what a place names, with all checks but those of the path.
    pub fn open_at(&self, caller: &Caller<'_>, place: Location, flags: OpenFlags) -> Result<Arc<OpenFile>> {
        let kind = place.inode().kind();
        if flags.contains(OpenFlags::DIRECTORY) && kind != FileKind::Directory {
            return Err(Errno::ENOTDIR);
        }
        if flags.contains(OpenFlags::PATH) {
            return OpenFile::path_only(place, flags);
        }
        // Access mode 3 is for device control only; it needs both permissions and gives neither.
        let both = flags.contains(OpenFlags::ACCESS_MODE);
        let writes = flags.writable() || both || flags.contains(OpenFlags::TRUNCATE);
        match kind {
            FileKind::Symlink => return Err(Errno::ELOOP),
            FileKind::Directory if writes => return Err(Errno::EISDIR),
            FileKind::Regular if writes && place.mount().read_only() => return Err(Errno::EROFS),
            FileKind::CharDevice | FileKind::BlockDevice
                if place.mount().flags.contains(MountFlags::NO_DEV) =>
            {
                return Err(Errno::EACCES);
            }
            _ => {}
        }
        // Root may read and write everything, whoever decides.
        if !caller.is_root() && !caller.is_left_to(place.inode()) {
            let mut wanted = Access::empty();
            wanted.set(Access::READ, flags.readable() || both);
            wanted.set(Access::WRITE, writes);
            access::check(caller, place.inode(), wanted)?;
        }
        // What can be refused comes before the file is cut short.
        let room = OpenFile::room()?;
        let file = place.inode().clone().open(flags)?;
        Ok(room.join(file, place, flags))
    }

    fn open_create(
        &self,
        caller: &Caller<'_>,
        start: &Location,
        path: &[u8],
        flags: OpenFlags,
        mode: u32,
    ) -> Result<Arc<OpenFile>> {
        if flags.contains(OpenFlags::DIRECTORY) {
            return Err(Errno::EINVAL);
        }
        let mut links = 0;
        let (mut start, mut path) = (start.clone(), path.to_vec());
        loop {
            let entry = self.resolve_entry_counting(caller, &start, &path, &mut links)?;
            match self.create_entry(caller, entry, flags, mode)? {
                Created::File(file) => return Ok(file),
                Created::Jump(place) => return self.open_at(caller, place, flags),
                Created::Link(target, directory) => {
                    links += 1;
                    if links > LINKS_MAX {
                        return Err(Errno::ELOOP);
                    }
                    (start, path) = (directory, target);
                }
            }
        }
    }

    /// Opens the entry or creates it. A file that appears between looking and creating is opened after all.
    fn create_entry(
        &self,
        caller: &Caller<'_>,
        entry: Entry,
        flags: OpenFlags,
        mode: u32,
    ) -> Result<Created> {
        if entry.is_special() || entry.must_be_directory {
            return Err(Errno::EISDIR);
        }
        let exclusive = flags.contains(OpenFlags::EXCLUSIVE);
        for _ in 0..8 {
            match self.resolve(caller, &entry.parent, &entry.name, Follow::No) {
                Ok(_) if exclusive => return Err(Errno::EEXIST),
                Ok(place) if place.inode().kind() == FileKind::Symlink => {
                    if flags.contains(OpenFlags::NO_FOLLOW) {
                        return Err(Errno::ELOOP);
                    }
                    if let Some(target) = place.inode().jump() {
                        return target.map(Created::Jump);
                    }
                    return Ok(Created::Link(place.inode().readlink()?, entry.parent));
                }
                Ok(place) if place.inode().is_directory() => return Err(Errno::EISDIR),
                Ok(place) => return self.open_at(caller, place, flags).map(Created::File),
                Err(Errno::ENOENT) => {}
                Err(error) => return Err(error),
            }
            match self.create_file(caller, &entry, flags, mode) {
                Err(Errno::EEXIST) if !exclusive => {}
                result => return result.map(Created::File),
            }
        }
        Err(Errno::EEXIST)
    }

    fn create_file(
        &self,
        caller: &Caller<'_>,
        entry: &Entry,
        flags: OpenFlags,
        mode: u32,
    ) -> Result<Arc<OpenFile>> {
        let owner = self.check_add(caller, &entry.parent)?;
        let mode = mode & MODE_PERMISSIONS & !caller.umask;
        // What can be refused comes before the file is there.
        let (path, room) = (fallible::arc_bytes(&entry.path())?, OpenFile::room()?);
        let created = entry.parent.inode().create(&entry.name, mode, owner, flags)?;
        let mount = entry.parent.mount().clone();
        let place = Location { mount, inode: created.inode, path };
        Ok(room.join(created.file, place, flags))
    }
}
