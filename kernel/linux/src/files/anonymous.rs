// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Inodes of files that no path leads to: event counters and sockets.

use alloc::format;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering};

use hadal_hal::memory::fallible;
use hadal_hal::sync::{Rank, SpinLock};
use hadal_vfs::{
    Caller, File, FileKind, Inode, InodeId, Location, Metadata, OpenFile, OpenFlags, Owner, SetAttr, StatFs,
    Timespec, make_dev,
};

use crate::{Errno, Result};

/// Device number of these files: the highest minor, which the running numbers of file systems do not reach.
const DEVICE: u64 = make_dev(0, 0xf_ffff);
/// What `fstatfs` reports (`ANON_INODE_FS_MAGIC`).
const MAGIC: u64 = 0x0904_1934;

/// An inode that is only good for `fstat` and the like.
struct AnonymousInode {
    ino: u64,
    kind: FileKind,
    metadata: SpinLock<Metadata>,
}

/// Opens a file that has no path. `label` is what `/proc/self/fd` shows.
pub(crate) fn open(
    caller: &Caller<'_>,
    file: Arc<dyn File>,
    mode: u32,
    label: Label,
    flags: OpenFlags,
) -> Result<Arc<OpenFile>> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let ino = NEXT.fetch_add(1, Ordering::Relaxed);
    let text = match label {
        Label::Fixed(text) => text.into(),
        Label::Numbered(kind) => format!("{kind}:[{ino}]"),
    };
    let owner = Owner { uid: caller.uid, gid: caller.gid };
    let metadata = Metadata::without_storage(InodeId { dev: DEVICE, ino }, mode, owner, Timespec::now());
    let inode = fallible::arc(AnonymousInode {
        ino,
        kind: metadata.kind(),
        metadata: SpinLock::ranked(Rank::Files, metadata),
    })?;
    OpenFile::new(file, Location::anonymous(inode, text.as_bytes())?, flags)
}

/// What stands in for the path.
#[derive(Clone, Copy)]
pub(crate) enum Label {
    /// The text itself.
    Fixed(&'static str),
    /// The kind and the inode number, as in `socket:[7]`.
    Numbered(&'static str),
}

impl Inode for AnonymousInode {
    fn identity(&self) -> InodeId {
        InodeId { dev: DEVICE, ino: self.ino }
    }

    fn kind(&self) -> FileKind {
        self.kind
    }

    fn metadata(&self) -> Result<Metadata> {
        Ok(*self.metadata.lock())
    }

    fn set_attr(&self, change: &SetAttr) -> Result<()> {
        // Some programs use pairs of sockets for pipes and give them a pipe's permissions.
        if self.kind != FileKind::Socket {
            return Err(Errno::EPERM);
        }
        self.metadata.lock().change(change);
        Ok(())
    }

    fn open(self: Arc<Self>, _flags: OpenFlags) -> Result<Arc<dyn File>> {
        Err(Errno::ENXIO)
    }

    fn statfs(&self) -> Result<StatFs> {
        Ok(StatFs { magic: MAGIC, block_size: 4096, name_max: 255, ..StatFs::default() })
    }
}
