// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Paths relative to directory descriptors: what the calls whose names end in `at` have in common.
//!
//! [`place`] finds what a path names; [`target`] also takes the empty path of `AT_EMPTY_PATH`, which stands for the
//! descriptor itself, as a [`Target`].

use alloc::sync::Arc;
use core::ops::Deref;

use hadal_vfs::{Follow, Inode, Location, Metadata, OpenFile, SetAttr};
use linux_raw_sys::general::{AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW};

use crate::call::Call;
use crate::memory;
pub(crate) use crate::memory::Text;
use crate::process::Process;
use crate::{Errno, Result};

/// Stands for the working directory where a call takes a directory descriptor.
pub(crate) const AT_FDCWD: i32 = linux_raw_sys::general::AT_FDCWD;

/// The path that argument `index` points to.
pub(crate) fn path<'a>(call: &Call<'_>, index: usize, room: &'a mut Text) -> Result<&'a [u8]> {
    memory::read_path(room, call.arg(index))
}

/// As [`path`], but a null pointer is an empty path where `AT_EMPTY_PATH` allows one.
pub(crate) fn path_or_null<'a>(
    call: &Call<'_>,
    index: usize,
    flags: u32,
    room: &'a mut Text,
) -> Result<&'a [u8]> {
    if flags & AT_EMPTY_PATH != 0 && call.arg(index) == 0 { Ok(&[]) } else { path(call, index, room) }
}

/// Where a path starts.
pub(crate) enum Start<'a> {
    /// At a place that the process keeps.
    Kept(&'a Location),
    /// At the working directory.
    Cwd(Arc<Location>),
    /// At an open directory.
    Open(Arc<OpenFile>),
}

impl Deref for Start<'_> {
    type Target = Location;

    fn deref(&self) -> &Location {
        match self {
            Self::Kept(place) => place,
            Self::Cwd(place) => place,
            Self::Open(directory) => directory.location(),
        }
    }
}

/// Where a path starts: at the directory behind `dirfd`; an absolute path may as well start at any.
pub(crate) fn start<'a>(process: &'a Process, dirfd: i32, path: &[u8]) -> Result<Start<'a>> {
    if path.first() == Some(&b'/') {
        return Ok(Start::Kept(&process.root));
    }
    if dirfd == AT_FDCWD {
        return Ok(Start::Cwd(process.cwd()));
    }
    // An empty path is an error of its own, whatever the descriptor.
    if path.is_empty() {
        return Err(Errno::ENOENT);
    }
    let directory = process.files().get(dirfd)?;
    if directory.inode().is_directory() { Ok(Start::Open(directory)) } else { Err(Errno::ENOTDIR) }
}

/// What a path names.
pub(crate) fn place(process: &Process, dirfd: i32, path: &[u8], follow: Follow) -> Result<Location> {
    let start = start(process, dirfd, path)?;
    process.namespace.resolve(&process.caller(), &start, path, follow)
}

/// The inode of what a path names.
pub(crate) fn inode(process: &Process, dirfd: i32, path: &[u8], follow: Follow) -> Result<Arc<dyn Inode>> {
    let start = start(process, dirfd, path)?;
    process.namespace.resolve_inode(&process.caller(), &start, path, follow)
}

/// Refuses flags that a call does not have.
pub(crate) fn check_flags(flags: u32, known: u32) -> Result<()> {
    if flags & !known == 0 { Ok(()) } else { Err(Errno::EINVAL) }
}

/// Whether the last component is followed when it is a symbolic link: yes unless `AT_SYMLINK_NOFOLLOW` is there.
pub(crate) fn follow(flags: u32) -> Follow {
    if flags & AT_SYMLINK_NOFOLLOW == 0 { Follow::Yes } else { Follow::No }
}

/// What a call works on.
pub(crate) enum Target {
    /// An open file, named by its descriptor.
    Open(Arc<OpenFile>),
    /// A place, named by a path.
    Place(Location),
}

/// What a path names, or with `AT_EMPTY_PATH` and an empty path the descriptor itself.
pub(crate) fn target(process: &Process, dirfd: i32, path: &[u8], flags: u32) -> Result<Target> {
    if !path.is_empty() || flags & AT_EMPTY_PATH == 0 {
        return place(process, dirfd, path, follow(flags)).map(Target::Place);
    }
    match dirfd {
        AT_FDCWD => Ok(Target::Place((*process.cwd()).clone())),
        _ => process.files().get(dirfd).map(Target::Open),
    }
}

impl Target {
    /// Where it is.
    pub(crate) fn location(&self) -> &Location {
        match self {
            Self::Open(file) => file.location(),
            Self::Place(place) => place,
        }
    }

    /// Its attributes.
    pub(crate) fn metadata(&self) -> Result<Metadata> {
        match self {
            Self::Open(file) => file.metadata(),
            Self::Place(place) => place.inode().metadata(),
        }
    }

    /// Changes attributes.
    pub(crate) fn set_attr(&self, process: &Process, change: &SetAttr) -> Result<()> {
        let changed = match self {
            Self::Open(file) => process.namespace.set_attr_open(&process.caller(), file, change),
            Self::Place(place) => process.namespace.set_attr(&process.caller(), place, change),
        };
        changed.inspect_err(|&error| process.refused.note_change(self.location(), error))
    }
}

/// The open file behind argument `index`, for calls that an `O_PATH` descriptor cannot be used with.
pub(crate) fn open_file(call: &Call<'_>, index: usize) -> Result<Arc<OpenFile>> {
    let file = call.process.files().get(call.int(index))?;
    file.file()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_flags_are_refused() {
        assert_eq!(check_flags(AT_EMPTY_PATH, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW), Ok(()));
        assert_eq!(check_flags(1, AT_EMPTY_PATH), Err(Errno::EINVAL));
        assert_eq!(follow(AT_SYMLINK_NOFOLLOW), Follow::No);
        assert_eq!(follow(AT_EMPTY_PATH), Follow::Yes);
    }
}
