// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A file whose content is in memory for ever: the program of an image, as the boot loader placed it.
//!
//! Nothing is copied: reads and mappings take the bytes from where they are. It is a file system of its own, made to be
//! mounted on the path of the program.

use alloc::sync::Arc;

use hadal_hal::memory::frames::Block;
use hadal_mem::space::{IoError, PAGE_SIZE, PageSource, SourceId};

use crate::device_numbers;
use crate::errno::{Errno, Result};
use crate::file::{File, Positions};
use crate::flags::OpenFlags;
use crate::inode::{Inode, InodeId, Owner};
use crate::metadata::{FileKind, Metadata, SetAttr, StatFs, Timespec};

/// RAMFS_MAGIC of linux/magic.h.
const MAGIC: u64 = 0x8584_58f6;
/// Unit of `st_blocks`.
const BLOCK: u64 = 512;

/// The file; also its only open form, since it keeps no position.
pub struct MemoryFile {
    content: &'static [u8],
    dev: u64,
    mode: u32,
    owner: Owner,
    created: Timespec,
}

impl MemoryFile {
    /// A read-only file with these permission bits.
    pub fn create(content: &'static [u8], mode: u32, owner: Owner) -> Arc<dyn Inode> {
        Arc::new(Self { content, dev: device_numbers::next(), mode, owner, created: Timespec::now() })
    }

    /// The content from `offset` on, at most `len` bytes.
    fn piece(&self, offset: u64, len: usize) -> &'static [u8] {
        let start = usize::try_from(offset).map_or(self.content.len(), |start| start.min(self.content.len()));
        let rest = &self.content[start..];
        &rest[..len.min(rest.len())]
    }
}

impl Inode for MemoryFile {
    fn identity(&self) -> InodeId {
        InodeId { dev: self.dev, ino: 1 }
    }

    fn kind(&self) -> FileKind {
        FileKind::Regular
    }

    fn metadata(&self) -> Result<Metadata> {
        let size = self.content.len() as u64;
        let mode = FileKind::Regular.mode_bits() | self.mode;
        Ok(Metadata {
            size,
            blocks: size.div_ceil(BLOCK),
            ..Metadata::without_storage(self.identity(), mode, self.owner, self.created)
        })
    }

    fn set_attr(&self, _: &SetAttr) -> Result<()> {
        Err(Errno::EROFS)
    }

    fn open(self: Arc<Self>, flags: OpenFlags) -> Result<Arc<dyn File>> {
        if flags.writable() { Err(Errno::EROFS) } else { Ok(self) }
    }

    fn statfs(&self) -> Result<StatFs> {
        Ok(StatFs {
            magic: MAGIC,
            block_size: PAGE_SIZE as u64,
            fsid: self.dev,
            name_max: 255,
            ..StatFs::default()
        })
    }
}

impl File for MemoryFile {
    fn positions(&self) -> Positions {
        Positions::Shared
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let piece = self.piece(offset, buffer.len());
        buffer[..piece.len()].copy_from_slice(piece);
        Ok(piece.len())
    }

    fn write_at(&self, _: u64, _: &[u8]) -> Result<usize> {
        Err(Errno::EROFS)
    }

    fn size(&self) -> Result<u64> {
        Ok(self.content.len() as u64)
    }

    fn page_source(self: Arc<Self>) -> Option<Arc<dyn PageSource>> {
        Some(self)
    }
}

impl PageSource for MemoryFile {
    fn id(&self) -> SourceId {
        SourceId { dev: self.dev, ino: 1 }
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> core::result::Result<usize, IoError> {
        let piece = self.piece(offset, buffer.len());
        buffer[..piece.len()].copy_from_slice(piece);
        Ok(piece.len())
    }

    fn read_frames(&self, offset: u64, frames: &[&Block]) -> core::result::Result<usize, IoError> {
        let piece = self.piece(offset, frames.len() * PAGE_SIZE);
        for (frame, data) in frames.iter().zip(piece.chunks(PAGE_SIZE)) {
            frame.write(0, data);
        }
        Ok(piece.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namespace::{Caller, Follow};
    use crate::testing::tmpfs;
    use crate::{MountFlags, Namespace};

    const CONTENT: &[u8] = &[7; 5000];

    #[test]
    fn reads_end_with_the_content_and_writes_are_refused() {
        let file = MemoryFile::create(CONTENT, 0o555, Owner::default()).open(OpenFlags::empty()).unwrap();
        let mut buffer = [0; 100];
        assert_eq!(file.read_at(4950, &mut buffer), Ok(50));
        assert_eq!(buffer[49..51], [7, 0]);
        assert_eq!(file.read_at(u64::MAX, &mut buffer), Ok(0));
        assert_eq!(file.write_at(0, b"x"), Err(Errno::EROFS));
        let inode = MemoryFile::create(CONTENT, 0o555, Owner::default());
        assert_eq!(inode.clone().open(OpenFlags::WRITE_ONLY).err(), Some(Errno::EROFS));
        assert_eq!(inode.metadata().unwrap().mode, 0o100555);
    }

    #[test]
    fn frames_get_the_pages() {
        let pa = hadal_hal::memory::frames::host_arena(2 << 20);
        let [one, other] = [pa, pa + 8192].map(|pa| Block::claim(pa, 0).unwrap());
        let file = MemoryFile::create(CONTENT, 0o555, Owner::default()).open(OpenFlags::empty()).unwrap();
        let source = file.page_source().unwrap();
        assert_eq!(source.read_frames(4096, &[&one, &other]), Ok(904));
        let mut page = [0; 905];
        one.read(0, &mut page);
        assert_eq!(page[903..], [7, 0]);
    }

    #[test]
    fn it_can_be_mounted_on_a_path_of_its_own() {
        let namespace = Namespace::new(tmpfs(1 << 20), MountFlags::empty(), "tmpfs", "none");
        let file = MemoryFile::create(CONTENT, 0o555, Owner::default());
        namespace.mount(b"/no/such/a.hadal", file, MountFlags::READ_ONLY, "image", "image").unwrap();
        let root = namespace.root();
        let resolve = |path: &[u8]| namespace.resolve(&Caller::KERNEL, &root, path, Follow::Yes);
        let place = resolve(b"/no/such/a.hadal").unwrap();
        assert_eq!((place.inode().kind(), place.path()), (FileKind::Regular, &b"/no/such/a.hadal"[..]));
        assert_eq!(resolve(b"/no/such/a.hadal/x").err(), Some(Errno::ENOTDIR));
        assert_eq!(resolve(b"/no/such/a.hadal/").err(), Some(Errno::ENOTDIR));
    }
}
