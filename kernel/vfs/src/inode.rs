// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Inodes: the objects that paths name.
//!
//! A file system is a type that implements [`Inode`]; [`crate::namespace`] walks paths over it and
//! [`Inode::open`] makes a [`File`] of it. Methods that a kind of inode does not have keep their default, which
//! is the error Linux gives. Names are bytes without `/` and are never empty, `.` or `..`.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;

use crate::errno::{Errno, Result};
use crate::file::File;
use crate::flags::{OpenFlags, RenameFlags};
use crate::metadata::{FileKind, Metadata, SetAttr, StatFs};
use crate::namespace::Location;

/// What tells one inode from every other: `st_dev` and `st_ino`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InodeId {
    /// Device of the file system.
    pub dev: u64,
    /// Number of the inode.
    pub ino: u64,
}

/// Who will own a new inode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

/// The result of [`Inode::walk`].
pub struct Walked {
    /// The inode that the last consumed name stands for.
    pub inode: Arc<dyn Inode>,
    /// How many names were consumed, at least one.
    pub count: usize,
}

/// A new, opened file.
pub struct Created {
    /// The inode of the file.
    pub inode: Arc<dyn Inode>,
    /// The file, opened as asked for.
    pub file: Arc<dyn File>,
}

/// A file, directory, link or device of some file system.
pub trait Inode: Any + Send + Sync {
    /// Device and number; stable as long as the inode exists.
    fn identity(&self) -> InodeId;

    /// The type, known without asking a server.
    fn kind(&self) -> FileKind;

    /// All attributes.
    fn metadata(&self) -> Result<Metadata>;

    /// Changes attributes. Who may do so was checked by the caller when [`Inode::checks_permissions`] is false.
    fn set_attr(&self, change: &SetAttr) -> Result<()>;

    /// True when the file system decides about access itself (a server does); false when the mode bits decide
    /// and the path walk compares them with the caller.
    fn checks_permissions(&self) -> bool {
        false
    }

    /// Finds an entry of a directory.
    fn lookup(&self, _name: &[u8]) -> Result<Arc<dyn Inode>> {
        Err(Errno::ENOTDIR)
    }

    /// Follows several names at once, as far as the file system can in one step: at least one name, and never
    /// past a symbolic link or a file that is no directory. The default takes one.
    fn walk(&self, names: &[&[u8]]) -> Result<Walked> {
        let first = names.first().ok_or(Errno::EINVAL)?;
        Ok(Walked { inode: self.lookup(first)?, count: 1 })
    }

    /// Creates a regular file and opens it; `EEXIST` when the name is taken. `mode` has the umask applied.
    fn create(&self, _name: &[u8], _mode: u32, _owner: Owner, _flags: OpenFlags) -> Result<Created> {
        Err(Errno::ENOTDIR)
    }

    /// Creates a directory.
    fn mkdir(&self, _name: &[u8], _mode: u32, _owner: Owner) -> Result<Arc<dyn Inode>> {
        Err(Errno::ENOTDIR)
    }

    /// Creates a symbolic link.
    fn symlink(&self, _name: &[u8], _target: &[u8], _owner: Owner) -> Result<Arc<dyn Inode>> {
        Err(Errno::ENOTDIR)
    }

    /// Creates a name that stands for something in the kernel, a named pipe or a socket; `EPERM` where there are none.
    fn make_special(
        &self,
        _name: &[u8],
        _kind: FileKind,
        _mode: u32,
        _owner: Owner,
    ) -> Result<Arc<dyn Inode>> {
        Err(Errno::EPERM)
    }

    /// Gives `target` one more name; `EXDEV` when it is of another file system.
    fn link(&self, _name: &[u8], _target: &Arc<dyn Inode>) -> Result<()> {
        Err(Errno::ENOTDIR)
    }

    /// Removes a name that is not a directory's.
    fn unlink(&self, _name: &[u8]) -> Result<()> {
        Err(Errno::ENOTDIR)
    }

    /// Removes an empty directory.
    fn rmdir(&self, _name: &[u8]) -> Result<()> {
        Err(Errno::ENOTDIR)
    }

    /// Moves an entry, replacing what `new_name` stood for unless `flags` say otherwise.
    fn rename(
        &self,
        _name: &[u8],
        _new_parent: &Arc<dyn Inode>,
        _new_name: &[u8],
        _flags: RenameFlags,
    ) -> Result<()> {
        Err(Errno::ENOTDIR)
    }

    /// The text of a symbolic link.
    fn readlink(&self) -> Result<Vec<u8>> {
        Err(Errno::EINVAL)
    }

    /// Where a magic link such as `/proc/self/exe` leads, whatever its text says. `None` for an ordinary link.
    fn jump(&self) -> Option<Result<Location>> {
        None
    }

    /// Opens the inode. Access was checked, and `O_CREAT`, `O_EXCL` and `O_NOFOLLOW` are dealt with;
    /// `O_TRUNC` is the inode's to honour.
    fn open(self: Arc<Self>, flags: OpenFlags) -> Result<Arc<dyn File>>;

    /// The numbers of the file system this inode is of.
    fn statfs(&self) -> Result<StatFs>;

    /// Lets go of everything the file system only remembers. Called on its root, when memory is short and when
    /// the namespace goes away.
    fn release_caches(&self) {}
}

impl dyn Inode {
    /// The inode as the concrete type `T`, for operations on two inodes of one file system.
    pub fn downcast_ref<T: Inode>(&self) -> Option<&T> {
        let any: &dyn Any = self;
        any.downcast_ref()
    }

    /// True for a directory.
    pub fn is_directory(&self) -> bool {
        self.kind() == FileKind::Directory
    }
}
