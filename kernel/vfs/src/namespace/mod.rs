// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Paths: the mount table and everything that takes a path.
//!
//! A [`Namespace`] is a root file system with others mounted on paths in it. [`Location`] is a place in it: an
//! inode together with the canonical absolute path it was reached by, which is what `getcwd` and
//! `/proc/self/fd` show. `walk` resolves paths, `open` opens, `change` creates, moves and removes entries,
//! [`access`] decides who may do what.
//!
//! A mount is looked up by path text. So a mount point need not exist in the file system below it (a host
//! directory can be mounted at `/data` of a read-only root that has none), and reaching it asks no server.
//! A location keeps the path it had when it was reached, also when a directory above it is renamed later.

pub mod access;
mod change;
mod mount_table;
mod open;
mod slash;
mod walk;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use hadal_hal::memory::fallible;
use hadal_hal::sync::{Rank, SpinLock};

use crate::errno::{Errno, Result};
use crate::flags::MountFlags;
use crate::inode::Inode;
pub use access::Caller;
pub use mount_table::MountTable;
pub use walk::Follow;

/// Longest path a program may pass, in bytes without the terminating zero.
pub const PATH_MAX: usize = 4095;
/// Longest name of an entry in bytes.
pub const NAME_MAX: usize = 255;
/// How many symbolic links one path may lead through.
pub const LINKS_MAX: u32 = 40;

/// What is mounted, for `/proc/self/mountinfo` and the walk.
pub struct Mount {
    /// Number of the mount, unique and never reused.
    pub id: u32,
    /// Absolute canonical path of the mount point.
    pub path: Arc<[u8]>,
    /// The directory or file that appears there.
    pub root: Arc<dyn Inode>,
    /// Options.
    pub flags: MountFlags,
    /// File system type, such as `tmpfs` or `9p`.
    pub kind: String,
    /// What was mounted, such as a share's name.
    pub source: String,
}

impl Mount {
    /// True when nothing below the mount can be changed.
    pub fn read_only(&self) -> bool {
        self.flags.contains(MountFlags::READ_ONLY)
    }
}

/// A place in the namespace: an inode and the canonical absolute path that led to it.
#[derive(Clone)]
pub struct Location {
    mount: Arc<Mount>,
    inode: Arc<dyn Inode>,
    path: Arc<[u8]>,
}

impl Location {
    /// A place outside every file system, such as a pipe; `label` (`pipe:[7]`) stands in for the path.
    pub fn anonymous(inode: Arc<dyn Inode>, label: &[u8]) -> Result<Self> {
        let mount = Mount {
            id: 0,
            path: Arc::from(&b""[..]),
            root: inode.clone(),
            flags: MountFlags::empty(),
            kind: String::from("anon"),
            source: String::new(),
        };
        Ok(Self { mount: fallible::arc(mount)?, inode, path: fallible::arc_bytes(label)? })
    }

    /// The inode.
    pub fn inode(&self) -> &Arc<dyn Inode> {
        &self.inode
    }

    /// The absolute path, or the label of an anonymous place.
    pub fn path(&self) -> &[u8] {
        &self.path
    }

    /// The mount the inode belongs to.
    pub fn mount(&self) -> &Arc<Mount> {
        &self.mount
    }

    /// The path of an entry of this directory.
    fn child_path(&self, name: &[u8]) -> Vec<u8> {
        let mut path = Vec::with_capacity(self.path.len() + 1 + name.len());
        path.extend_from_slice(&self.path);
        push_name(&mut path, name);
        path
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.escape_ascii())
    }
}

/// Appends `/name` to a canonical path.
fn push_name(path: &mut Vec<u8>, name: &[u8]) {
    if path.last() != Some(&b'/') {
        path.push(b'/');
    }
    path.extend_from_slice(name);
}

/// The names in a path, in order.
fn names_of(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/').filter(|name| !name.is_empty())
}

/// True when `path` lies strictly below the directory `above`, both canonical.
fn is_below(path: &[u8], above: &[u8]) -> bool {
    if above == b"/" {
        return path.len() > 1;
    }
    path.len() > above.len() && path.starts_with(above) && path[above.len()] == b'/'
}

/// A root file system with mounts on it.
pub struct Namespace {
    mounts: SpinLock<Arc<MountTable>>,
}

impl Namespace {
    /// A namespace with one file system, mounted at `/`.
    pub fn new(root: Arc<dyn Inode>, flags: MountFlags, kind: &str, source: &str) -> Self {
        let mount = Mount {
            id: 1,
            path: Arc::from(&b"/"[..]),
            root,
            flags,
            kind: String::from(kind),
            source: String::from(source),
        };
        Self { mounts: SpinLock::ranked(Rank::Files, Arc::new(MountTable::new(Arc::new(mount)))) }
    }

    /// Mounts a directory, or a single file, on an absolute path without `.`, `..`, symbolic links and doubled slashes.
    /// The mount point need not exist.
    pub fn mount(
        &self,
        path: &[u8],
        root: Arc<dyn Inode>,
        flags: MountFlags,
        kind: &str,
        source: &str,
    ) -> Result<()> {
        let path = canonical(path)?;
        let mut mounts = self.mounts.lock();
        let id = mounts.iter().map(|mount| mount.id).max().unwrap_or(0) + 1;
        let mount = Mount {
            id,
            path: Arc::from(path),
            root,
            flags,
            kind: String::from(kind),
            source: String::from(source),
        };
        let mut next = mounts.as_ref().clone();
        next.add(Arc::new(mount));
        *mounts = Arc::new(next);
        Ok(())
    }

    /// All mounts.
    pub fn mounts(&self) -> Arc<MountTable> {
        self.mounts.lock().clone()
    }

    /// The root directory.
    pub fn root(&self) -> Location {
        mount_location(self.mounts().root().1)
    }

    /// Lets all file systems forget what they can ask for again, for when memory is short.
    pub fn release_caches(&self) {
        self.mounts().iter().for_each(|mount| mount.root.release_caches());
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        self.release_caches();
    }
}

/// Where a mount leads.
fn mount_location(mount: &Arc<Mount>) -> Location {
    Location { mount: mount.clone(), inode: mount.root.clone(), path: mount.path.clone() }
}

/// Checks and copies a mount path, without its trailing slashes.
fn canonical(path: &[u8]) -> Result<Vec<u8>> {
    if path.first() != Some(&b'/') {
        return Err(Errno::EINVAL);
    }
    let mut clean = Vec::new();
    for name in names_of(path) {
        if name == b"." || name == b".." {
            return Err(Errno::EINVAL);
        }
        push_name(&mut clean, name);
    }
    if clean.is_empty() {
        clean.push(b'/');
    }
    Ok(clean)
}

#[cfg(test)]
mod tests;
