// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Open files and directories of a 9P tree.
//!
//! Writes go to the server at once, so nothing is lost when the machine ends; `fsync` asks the host to make them
//! durable. Appends are the server's: it opens with `O_APPEND`, so that the host's kernel finds the end for each
//! write, whoever else writes. A file whose last name is gone stays readable and writable. QEMU up to version 9 then answers
//! questions about its attributes with `ENOENT`; they are answered here from what was seen last.

use alloc::sync::Arc;
use core::ops::Range;

use hadal_hal::sync::SpinLock;
use hadal_mem::space::PageSource;
use hadal_sync::Mutex;
use spin::Once;

use super::client::Fid;
use super::codec::{QID_DIRECTORY, Qid, Reader};
use super::fs::{Node, wire_changes, wire_flags};
use super::pages::NinepSource;
use crate::errno::{Errno, Result};
use crate::file::{Destination, DirEntry, File, Positions};
use crate::flags::OpenFlags;
use crate::inode::Inode;
use crate::metadata::{FileKind, Metadata, SetAttr, Timespec};
use crate::page_cache::FilePages;

/// How much of a directory one exchange fetches: about what `getdents64` asks for at a time.
const READDIR_BYTES: usize = 32 * 1024;

/// An open file or directory.
pub(super) struct NinepFile {
    node: Arc<Node>,
    fid: Fid,
    /// The file when it was opened.
    qid: Qid,
    /// Its pages, in a read-only tree.
    kept: Once<Arc<FilePages>>,
    writable: bool,
    /// Whether the server opened `fid` with `O_APPEND`: then it puts every write at the end.
    appends: bool,
    /// A fid of the other kind, for writing, once `O_APPEND` was changed on the open file.
    other: Mutex<Option<Arc<Fid>>>,
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
    /// A file as the server opened it: what it is, and its unit of input and output.
    pub(super) fn new(node: Arc<Node>, fid: Fid, (qid, io_unit): (Qid, u32), flags: OpenFlags) -> Self {
        let limit = fid.client().io_limit();
        let unit = if io_unit == 0 { limit } else { limit.min(io_unit as usize) };
        let last = SpinLock::new(Last { metadata: None, end: 0 });
        let appends = flags.contains(OpenFlags::APPEND);
        let writable = flags.writable();
        Self { node, fid, qid, appends, writable, other: Mutex::new(None), unit, kept: Once::new(), last }
    }

    /// The file opened once more, with `O_APPEND` if `fid` is without it and the other way round. `ESTALE` when its
    /// name is another file's.
    fn other(&self) -> Result<Arc<Fid>> {
        let mut slot = self.other.lock();
        if let Some(fid) = &*slot {
            return Ok(fid.clone());
        }
        let mut flags = OpenFlags::WRITE_ONLY;
        flags.set(OpenFlags::APPEND, !self.appends);
        let fid = self.node.fid_to_open()?;
        let (qid, _) = fid.open(wire_flags(flags))?;
        if qid.path != self.node.qid.path {
            return Err(Errno::ESTALE);
        }
        let fid = Arc::new(fid);
        *slot = Some(fid.clone());
        Ok(fid)
    }

    /// Writes through a fid, in as many exchanges as it takes.
    fn write_through(&self, fid: &Fid, offset: u64, data: &[u8]) -> Result<usize> {
        let mut done = 0;
        while done < data.len() {
            let part = &data[done..data.len().min(done + self.unit)];
            match fid.write(offset + done as u64, part) {
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

    /// Reads from the server until the buffer is full or nothing more comes.
    fn read_through(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        self.read_in_pieces(offset, buffer.len(), &mut |data| {
            buffer[done..done + data.len()].copy_from_slice(data);
            done += data.len();
        })
    }

    /// Reads up to `len` bytes from the server, in as many exchanges as it takes, and hands on what each brings.
    fn read_in_pieces(&self, offset: u64, len: usize, take: &mut dyn FnMut(&[u8])) -> Result<usize> {
        let mut done = 0;
        while done < len {
            let wanted = (len - done).min(self.unit);
            match self.fid.read_to(offset.saturating_add(done as u64), wanted, take) {
                Ok(0) => break,
                // Whether less means the end only the next read tells.
                Ok(count) => done += count,
                Err(error) if done == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(done)
    }

    /// Reads from a file of a read-only tree, whose length is known and whose pages are kept.
    fn read_known(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let size = self.attributes()?.size;
        if size == 0 {
            // Some special files of the host have content all the same.
            return self.read_through(offset, buffer);
        }
        let read = |offset, len, take: &mut dyn FnMut(&[u8])| self.read_for_pages(offset, len, take);
        match self.pages().read(offset, buffer, size, &read) {
            // No memory for a page is no reason to fail.
            Err(Errno::ENOMEM) => self.read_through(offset, buffer),
            result => result,
        }
    }

    /// The length of the file, or `u64::MAX` if it is not known.
    pub(super) fn known_size(&self) -> u64 {
        // Some special files of the host say 0 and have content all the same.
        let known = self.node.known_metadata().map(|metadata| metadata.size);
        known.filter(|&size| size > 0).unwrap_or(u64::MAX)
    }

    /// Reads what pages are going to hold.
    pub(super) fn read_for_pages(&self, offset: u64, len: usize, take: &mut dyn FnMut(&[u8])) -> Result<()> {
        // Asking no further than the end saves the request that finds it.
        let room = usize::try_from(self.known_size().saturating_sub(offset)).unwrap_or(usize::MAX);
        let len = len.min(room);
        self.read_in_pieces(offset, len, take).map(drop)
    }

    /// The pages of the file, from now on if it had none.
    fn pages(&self) -> Arc<FilePages> {
        if !self.node.fs.read_only {
            return self.node.fs.pages.of(&self.qid, self.unit);
        }
        self.kept.call_once(|| self.node.fs.pages.of(&self.qid, self.unit)).clone()
    }

    /// Reads from a file that can be written, and that may be mapped.
    fn read_present(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        // Asked for first: pages that go away meanwhile have been written back, perhaps after this read.
        let pages = self.node.fs.pages.mapped(&self.qid);
        let count = self.read_through(offset, buffer)?;
        pages.into_iter().for_each(|pages| pages.overlay(offset, &mut buffer[..count]));
        Ok(count)
    }

    /// Writes by `write` at a position where the file may be mapped.
    fn write_present(
        &self,
        offset: u64,
        data: &[u8],
        write: impl FnOnce() -> Result<usize>,
    ) -> Result<usize> {
        let Some(pages) = self.node.fs.pages.mapped(&self.qid) else {
            let written = write()?;
            // It may have been mapped meanwhile.
            if let Some(pages) = self.node.fs.pages.mapped(&self.qid) {
                let _order = pages.writers.lock();
                pages.patch(offset, &data[..written]);
            }
            return Ok(written);
        };
        let _order = pages.writers.lock();
        let end = self.attributes()?.size;
        let written = write()?;
        if offset + written as u64 > end {
            pages.cut(end);
        }
        pages.patch(offset, &data[..written]);
        Ok(written)
    }

    /// Brings what mappings have written in a range of pages to the server.
    pub(super) fn write_back(&self, pages: &FilePages, range: Range<u64>) -> Result<()> {
        if !pages.has_written() || !self.writable {
            return Ok(());
        }
        let _order = pages.writers.lock();
        let size = self.attributes()?.size;
        pages.write_back(range, size, &|offset, data| match self.write_at_server(offset, data)? {
            written if written < data.len() => Err(Errno::EIO),
            _ => Ok(()),
        })
    }

    /// Writes at a position, whatever the file was opened for.
    fn write_at_server(&self, offset: u64, data: &[u8]) -> Result<usize> {
        if self.appends {
            self.write_through(&*self.other()?, offset, data)
        } else {
            self.write_through(&self.fid, offset, data)
        }
    }

    /// The inode.
    pub(super) fn node(&self) -> &Node {
        &self.node
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

    /// Sets the length at the server.
    fn set_size(&self, size: u64) -> Result<()> {
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
                now if now < size => self.write_at_server(size - 1, &[0]).map(drop),
                _ => Err(Errno::EIO),
            },
            Err(error) => Err(error),
        }
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
    fn positions(&self) -> Positions {
        Positions::Shared
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let room = usize::try_from((i64::MAX as u64).saturating_sub(offset)).unwrap_or(usize::MAX);
        let len = buffer.len().min(room);
        let buffer = &mut buffer[..len];
        if self.node.fs.read_only {
            self.read_known(offset, buffer)
        } else {
            self.read_present(offset, buffer)
        }
    }

    fn read_direct(&self, offset: u64, len: usize, to: &mut dyn Destination) -> Option<Result<usize>> {
        if !self.node.fs.read_only {
            return None;
        }
        let size = match self.attributes() {
            // Some special files of the host have content all the same.
            Ok(attributes) if attributes.size == 0 => return None,
            Ok(attributes) => attributes.size,
            Err(error) => return Some(Err(error)),
        };
        let read = |offset, len, take: &mut dyn FnMut(&[u8])| self.read_for_pages(offset, len, take);
        match self.pages().read_to(offset, len, size, &read, to) {
            // No memory for a page is no reason to fail.
            Err(Errno::ENOMEM) => None,
            result => Some(result),
        }
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> Result<usize> {
        self.write_present(offset, data, || self.write_at_server(offset, data))
    }

    fn append(&self, data: &[u8]) -> Result<(u64, usize)> {
        // Where the data will be, unless somebody outside of this machine appends at the same moment: the protocol
        // does not tell. A server that knows no `O_APPEND` gets the right place, too.
        let end = self.size()?;
        let written = self.write_present(end, data, || {
            if self.appends {
                return self.write_through(&self.fid, end, data);
            }
            match self.other() {
                Ok(fid) => self.write_through(&fid, end, data),
                // The name is gone or closed to writers since the file was opened. Other appends of this machine
                // wait for their turn.
                Err(Errno::ENOENT | Errno::ESTALE | Errno::EACCES) => {
                    self.write_through(&self.fid, end, data)
                }
                Err(error) => Err(error),
            }
        })?;
        Ok((end + written as u64, written))
    }

    fn append_turn(&self) -> Option<&Mutex<()>> {
        Some(self.node.fs.appends.of(self.node.qid.path))
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
        self.node.resize(size, || self.size(), || self.set_size(size))
    }

    fn metadata(&self) -> Option<Result<Metadata>> {
        Some(self.attributes())
    }

    fn size(&self) -> Result<u64> {
        Ok(self.attributes()?.size)
    }

    fn set_attr(&self, change: &SetAttr) -> Option<Result<()>> {
        let set = || self.fid.setattr(&wire_changes(change));
        Some(match change.size {
            Some(size) => self.node.resize(size, || self.size(), set),
            None => set(),
        })
    }

    fn page_source(self: Arc<Self>) -> Option<Arc<dyn PageSource>> {
        (self.node.kind() == FileKind::Regular).then(|| -> Arc<dyn PageSource> {
            let pages = self.pages();
            Arc::new(NinepSource::new(self, pages))
        })
    }

    fn maps_shared_writable(&self) -> bool {
        !self.node.fs.read_only && self.node.kind() == FileKind::Regular
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
