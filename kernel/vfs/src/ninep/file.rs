// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Open files and directories of a 9P tree.
//!
//! Writes go to the server at once, so nothing is lost when the machine ends; `fsync` asks the host to make them
//! durable. A file whose last name is gone stays readable and writable. QEMU up to version 9 then answers
//! questions about its attributes with `ENOENT`; they are answered here from what was seen last.

use alloc::sync::Arc;
use alloc::vec::Vec;

use hadal_hal::sync::SpinLock;
use hadal_mem::space::{IoError, PageSource, SourceId};

use super::cache::CHUNK;
use super::client::Fid;
use super::codec::{QID_DIRECTORY, Reader};
use super::fs::{Node, wire_changes};
use crate::errno::{Errno, Result};
use crate::file::{DirEntry, File};
use crate::inode::Inode;
use crate::metadata::{FileKind, Metadata, SetAttr, Timespec};

/// How much of a directory one exchange fetches: about what `getdents64` asks for at a time.
const READDIR_BYTES: usize = 32 * 1024;

/// An open file or directory.
pub(super) struct NinepFile {
    node: Arc<Node>,
    fid: Fid,
    /// Most bytes one exchange moves.
    unit: usize,
    /// What is known of the attributes.
    last: SpinLock<Last>,
}

struct Last {
    metadata: Option<Metadata>,
    /// The end of the highest write.
    end: u64,
}

impl NinepFile {
    pub(super) fn new(node: Arc<Node>, fid: Fid, io_unit: u32) -> Self {
        let limit = fid.client().io_limit();
        let unit = if io_unit == 0 { limit } else { limit.min(io_unit as usize) };
        Self { node, fid, unit, last: SpinLock::new(Last { metadata: None, end: 0 }) }
    }

    /// Reads from the server, in as many exchanges as it takes, until the buffer is full or nothing more comes.
    fn read_through(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            let wanted = (buffer.len() - done).min(self.unit);
            match self.fid.read(offset.saturating_add(done as u64), &mut buffer[done..done + wanted]) {
                Ok(0) => break,
                // Whether less means the end only the next read tells.
                Ok(count) => done += count,
                Err(error) if done == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(done)
    }

    /// Reads from a file of a read-only tree, whose length is known and whose pieces are kept.
    fn read_known(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let size = self.attributes()?.size;
        if size == 0 {
            // Some special files of the host have content all the same.
            return self.read_through(offset, buffer);
        }
        let room = usize::try_from(size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let len = buffer.len().min(room);
        let buffer = &mut buffer[..len];
        if self.node.fs.content.is_off() || len >= CHUNK {
            return self.read_through(offset, buffer);
        }
        match self.read_cached(offset, buffer, size) {
            // No memory for a piece is no reason to fail.
            Err(Errno::ENOMEM) => self.read_through(offset, buffer),
            result => result,
        }
    }

    fn read_cached(&self, offset: u64, buffer: &mut [u8], size: u64) -> Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            let at = offset + done as u64;
            let (index, within) = (at / CHUNK as u64, (at % CHUNK as u64) as usize);
            let chunk = match self.node.fs.content.get(self.node.qid.path, index) {
                Some(chunk) => chunk,
                None => self.fetch(index, size)?,
            };
            let Some(rest) = chunk.get(within..).filter(|rest| !rest.is_empty()) else { break };
            let count = rest.len().min(buffer.len() - done);
            buffer[done..done + count].copy_from_slice(&rest[..count]);
            done += count;
        }
        Ok(done)
    }

    /// Reads one piece of a file of the given length and keeps it.
    fn fetch(&self, index: u64, size: u64) -> Result<Arc<Vec<u8>>> {
        let start = index * CHUNK as u64;
        let len = size.saturating_sub(start).min(CHUNK as u64) as usize;
        let mut data = Vec::new();
        data.try_reserve_exact(len).map_err(|_| Errno::ENOMEM)?;
        data.resize(len, 0);
        let count = self.read_through(start, &mut data)?;
        data.truncate(count);
        let data = Arc::new(data);
        self.node.fs.content.put(self.node.qid.path, index, data.clone());
        Ok(data)
    }

    /// Attributes of a file that has no name any more.
    fn orphan(&self) -> Metadata {
        let last = self.last.lock();
        let id = self.node.identity();
        let unknown = Metadata {
            dev: id.dev,
            ino: id.ino,
            mode: FileKind::Regular.mode_bits() | 0o600,
            nlink: 0,
            uid: 0,
            gid: 0,
            rdev: 0,
            size: 0,
            blksize: 4096,
            blocks: 0,
            atime: Timespec::default(),
            mtime: Timespec::default(),
            ctime: Timespec::default(),
        };
        let mut metadata = last.metadata.unwrap_or(unknown);
        metadata.nlink = 0;
        metadata.size = metadata.size.max(last.end);
        metadata.blocks = metadata.size.div_ceil(512);
        metadata
    }

    /// The attributes, from memory in a read-only tree, else from the server.
    fn attributes(&self) -> Result<Metadata> {
        if let Some(known) = self.node.known_metadata() {
            return Ok(known);
        }
        match self.fid.getattr() {
            Ok(attributes) => {
                let metadata = self.node.metadata_of(&attributes);
                self.node.remember(metadata);
                *self.last.lock() = Last { metadata: Some(metadata), end: 0 };
                Ok(metadata)
            }
            Err(Errno::ENOENT) => Ok(self.orphan()),
            Err(error) => Err(error),
        }
    }
}

impl File for NinepFile {
    fn is_seekable(&self) -> bool {
        true
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let room = usize::try_from((i64::MAX as u64).saturating_sub(offset)).unwrap_or(usize::MAX);
        let len = buffer.len().min(room);
        let buffer = &mut buffer[..len];
        if self.node.fs.read_only {
            self.read_known(offset, buffer)
        } else {
            self.read_through(offset, buffer)
        }
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> Result<usize> {
        let mut done = 0;
        while done < data.len() {
            let part = &data[done..data.len().min(done + self.unit)];
            match self.fid.write(offset + done as u64, part) {
                Ok(0) if done == 0 => return Err(Errno::EIO),
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if done == 0 => return Err(error),
                Err(_) => break,
            }
        }
        let mut last = self.last.lock();
        last.end = last.end.max(offset + done as u64);
        Ok(done)
    }

    fn readdir(&self, cookie: u64, sink: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        let mut cookie = cookie;
        loop {
            let step = self.fid.readdir(cookie, READDIR_BYTES, |data| pass_entries(data, cookie, sink))?;
            match step? {
                Some(next) => cookie = next,
                None => return Ok(()),
            }
        }
    }

    fn fsync(&self, data_only: bool) -> Result<()> {
        if self.node.fs.read_only { Ok(()) } else { self.fid.fsync(data_only) }
    }

    fn truncate(&self, size: u64) -> Result<()> {
        match self.fid.setattr(&wire_changes(&SetAttr::size(size))) {
            Ok(()) => {
                let mut last = self.last.lock();
                last.end = size;
                if let Some(metadata) = &mut last.metadata {
                    metadata.size = size;
                }
                Ok(())
            }
            // The server looks for the name, which is gone. Growing can be had by writing.
            Err(Errno::ENOENT) => match self.orphan().size {
                now if now == size => Ok(()),
                now if now < size => self.write_at(size - 1, &[0]).map(drop),
                _ => Err(Errno::EIO),
            },
            Err(error) => Err(error),
        }
    }

    fn metadata(&self) -> Option<Result<Metadata>> {
        Some(self.attributes())
    }

    fn size(&self) -> Result<u64> {
        Ok(self.attributes()?.size)
    }

    fn set_attr(&self, change: &SetAttr) -> Option<Result<()>> {
        Some(self.fid.setattr(&wire_changes(change)))
    }

    fn page_source(self: Arc<Self>) -> Option<Arc<dyn PageSource>> {
        (self.node.kind() == FileKind::Regular)
            .then(|| -> Arc<dyn PageSource> { Arc::new(NinepSource(self)) })
    }
}

/// Hands the entries in the data of a reply on. `None` at the end of the directory or when `sink` has enough, else
/// the cookie to go on with.
fn pass_entries(data: &[u8], cookie: u64, sink: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<Option<u64>> {
    let mut reader = Reader::new(data);
    let mut last = None;
    while let Some(entry) = reader.entry().map_err(|_| Errno::EIO)? {
        if entry.name.is_empty() || entry.name.contains(&b'/') || entry.name.contains(&0) {
            return Err(Errno::EIO);
        }
        let kind = FileKind::from_dirent_type(entry.kind)
            .or((entry.qid.kind & QID_DIRECTORY != 0).then_some(FileKind::Directory));
        let taken = sink(DirEntry { ino: entry.qid.path, next_cookie: entry.offset, kind, name: entry.name });
        if !taken {
            return Ok(None);
        }
        last = Some(entry.offset);
    }
    match last {
        // A server that does not get on would be asked for ever.
        Some(next) if next == cookie => Err(Errno::EIO),
        next => Ok(next),
    }
}

/// The pages of a file, read from the server. Writable shared mappings are not offered: the protocol has no way
/// to learn of the host's changes.
struct NinepSource(Arc<NinepFile>);

impl PageSource for NinepSource {
    fn id(&self) -> SourceId {
        let id = self.0.node.identity();
        SourceId { dev: id.dev, ino: id.ino }
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> core::result::Result<usize, IoError> {
        self.0.read_at(offset, buffer).map_err(|error| match error {
            Errno::ENOMEM => IoError::NoMemory,
            _ => IoError::Failed,
        })
    }
}
