// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Leaves of a synthetic file system: generated files, links, devices.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use hadal_hal::memory::fallible;
use hadal_sync::Mutex;

use super::directory::{Place, metadata, statfs};
use crate::errno::{Errno, Result};
use crate::file::{Destination, File, Positions};
use crate::flags::OpenFlags;
use crate::inode::{Inode, InodeId, Owner};
use crate::metadata::{FileKind, Metadata, SetAttr, StatFs};
use crate::namespace::Location;

/// Makes the content of a file, when it is opened for reading.
pub type Generator = Box<dyn Fn() -> Result<Vec<u8>> + Send + Sync>;
/// Takes what a program writes to a file; returns how much of it was used.
pub type WriteHook = Box<dyn Fn(&[u8]) -> Result<usize> + Send + Sync>;
/// Opens a device.
pub type Opener = Box<dyn Fn(OpenFlags) -> Result<Arc<dyn File>> + Send + Sync>;

/// Where a link leads.
pub enum LinkTarget {
    /// A text, followed like that of any link.
    Text(Vec<u8>),
    /// A text made when the link is read.
    Made(Box<dyn Fn() -> Result<Vec<u8>> + Send + Sync>),
    /// A place: the walk goes there whatever its path says, and reading the link shows that path.
    Jump(Box<dyn Fn() -> Result<Location> + Send + Sync>),
}

/// A leaf that does not know its place in the tree yet.
pub struct Generated {
    pub(super) mode: u32,
    /// Instead of the file system's.
    owner: Option<Owner>,
    content: Content,
}

enum Content {
    File { generate: Generator, write: Option<WriteHook>, size: u64 },
    Link(LinkTarget),
    Device { open: Opener, kind: FileKind, rdev: u64 },
}

/// A file with generated content; it can be written when there is a hook. `mode` are its permission bits, `size`
/// is what `stat` says (0 in `/proc`, 4096 in `/sys`).
pub fn generated_file(mode: u32, size: u64, generate: Generator, write: Option<WriteHook>) -> Generated {
    Generated { mode, owner: None, content: Content::File { generate, write, size } }
}

/// A symbolic link.
pub fn link(target: LinkTarget) -> Generated {
    Generated { mode: 0o777, owner: None, content: Content::Link(target) }
}

/// A character device with permission bits and device number.
pub fn device(mode: u32, rdev: u64, open: Opener) -> Generated {
    Generated { mode, owner: None, content: Content::Device { open, kind: FileKind::CharDevice, rdev } }
}

impl Generated {
    /// Gives it an owner of its own.
    pub fn owned_by(self, owner: Owner) -> Self {
        Self { owner: Some(owner), ..self }
    }
}

/// A leaf at its place.
pub(super) struct Leaf {
    place: Place,
    leaf: Generated,
}

impl Leaf {
    pub(super) fn new(place: Place, leaf: Generated) -> Self {
        Self { place, leaf }
    }
}

impl Inode for Leaf {
    fn identity(&self) -> InodeId {
        self.place.id()
    }

    fn kind(&self) -> FileKind {
        match &self.leaf.content {
            Content::File { .. } => FileKind::Regular,
            Content::Link(_) => FileKind::Symlink,
            Content::Device { kind, .. } => *kind,
        }
    }

    fn metadata(&self) -> Result<Metadata> {
        let mut metadata = metadata(&self.place, self.kind(), self.leaf.mode);
        if let Some(owner) = self.leaf.owner {
            (metadata.uid, metadata.gid) = (owner.uid, owner.gid);
        }
        match &self.leaf.content {
            Content::File { size, .. } => metadata.size = *size,
            Content::Device { rdev, .. } => metadata.rdev = *rdev,
            Content::Link(LinkTarget::Text(text)) => metadata.size = text.len() as u64,
            Content::Link(_) => {}
        }
        Ok(metadata)
    }

    fn set_attr(&self, change: &SetAttr) -> Result<()> {
        // Opening with O_TRUNC and `echo > file` are harmless; nothing else can change.
        let only_size = SetAttr { size: None, ..*change } == SetAttr::default();
        if only_size && self.kind() != FileKind::Symlink { Ok(()) } else { Err(Errno::EPERM) }
    }

    fn readlink(&self) -> Result<Vec<u8>> {
        match &self.leaf.content {
            Content::Link(LinkTarget::Text(text)) => Ok(text.clone()),
            Content::Link(LinkTarget::Made(make)) => make(),
            Content::Link(LinkTarget::Jump(jump)) => Ok(jump()?.path().to_vec()),
            _ => Err(Errno::EINVAL),
        }
    }

    fn jump(&self) -> Option<Result<Location>> {
        match &self.leaf.content {
            Content::Link(LinkTarget::Jump(jump)) => Some(jump()),
            _ => None,
        }
    }

    fn open(self: Arc<Self>, flags: OpenFlags) -> Result<Arc<dyn File>> {
        match &self.leaf.content {
            Content::File { generate, write, .. } => {
                if flags.writable() && write.is_none() {
                    return Err(Errno::EACCES);
                }
                let content = if flags.readable() { generate()? } else { Vec::new() };
                if write.is_none() {
                    return Ok(fallible::arc(Snapshot { content })?);
                }
                Ok(fallible::arc(Changeable { leaf: self.clone(), content: Mutex::new(content) })?)
            }
            Content::Link(_) => Err(Errno::ELOOP),
            Content::Device { open, .. } => open(flags),
        }
    }

    fn statfs(&self) -> Result<StatFs> {
        Ok(statfs(&self.place))
    }
}

/// The bytes of `content` from an offset on, at most `len`.
fn part(content: &[u8], offset: u64, len: usize) -> &[u8] {
    let rest = usize::try_from(offset).ok().and_then(|offset| content.get(offset..)).unwrap_or_default();
    &rest[..len.min(rest.len())]
}

fn copy_part(content: &[u8], offset: u64, buffer: &mut [u8]) -> usize {
    let part = part(content, offset, buffer.len());
    buffer[..part.len()].copy_from_slice(part);
    part.len()
}

/// An open file that cannot be written: the content as it was at open.
struct Snapshot {
    content: Vec<u8>,
}

impl File for Snapshot {
    fn positions(&self) -> Positions {
        Positions::Shared
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        Ok(copy_part(&self.content, offset, buffer))
    }

    fn read_direct(&self, offset: u64, len: usize, to: &mut dyn Destination) -> Option<Result<usize>> {
        let part = part(&self.content, offset, len);
        Some(to.put_bytes(part).map(|()| part.len()))
    }

    fn write_at(&self, _offset: u64, _data: &[u8]) -> Result<usize> {
        Err(Errno::EIO)
    }

    fn size(&self) -> Result<u64> {
        Ok(self.content.len() as u64)
    }

    fn truncate(&self, _size: u64) -> Result<()> {
        Ok(())
    }
}

/// An open file that can be written: the content as it was at open, or after the last write.
struct Changeable {
    leaf: Arc<Leaf>,
    content: Mutex<Vec<u8>>,
}

impl File for Changeable {
    fn positions(&self) -> Positions {
        Positions::Shared
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        Ok(copy_part(&self.content.lock(), offset, buffer))
    }

    fn write_at(&self, _offset: u64, data: &[u8]) -> Result<usize> {
        let Content::File { generate, write: Some(write), .. } = &self.leaf.leaf.content else {
            return Err(Errno::EIO);
        };
        let used = write(data)?;
        // A later read through the same descriptor sees the new state.
        if let Ok(fresh) = generate() {
            *self.content.lock() = fresh;
        }
        Ok(used)
    }

    fn size(&self) -> Result<u64> {
        Ok(self.content.lock().len() as u64)
    }

    fn truncate(&self, _size: u64) -> Result<()> {
        Ok(())
    }
}
