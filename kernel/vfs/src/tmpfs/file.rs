// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Open files and directories of a [`super::TmpFs`], and their mappings.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use hadal_hal::memory::fallible;
use hadal_hal::memory::frames::Lent;
use hadal_mem::space::{IoError, PageSource, SourceId};
use hadal_sync::Mutex;

use super::pages::{Frame, PAGE_SIZE};
use super::{Body, Node};
use crate::errno::{Errno, Result};
use crate::file::{AllocateMode, Destination, DirEntry, File, Positions};
use crate::inode::Inode;

/// An open file or directory.
pub(super) struct TmpFile {
    node: Arc<Node>,
}

impl TmpFile {
    pub(super) fn new(node: Arc<Node>) -> Self {
        Self { node }
    }
}

impl File for TmpFile {
    fn positions(&self) -> Positions {
        Positions::Shared
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        Ok(self.node.pages()?.lock().read(offset, buffer))
    }

    fn read_direct(&self, offset: u64, len: usize, to: &mut dyn Destination) -> Option<Result<usize>> {
        let Body::Regular(pages) = &self.node.body else { return None };
        let mut done = 0;
        while done < len {
            // The file may end elsewhere by now.
            let Some((frame, within, part)) = pages.lock().piece(offset + done as u64, len - done) else {
                break;
            };
            let put = match frame {
                Some(frame) => to.put(&frame, within, part),
                None => to.put_zeros(part),
            };
            match put {
                Ok(()) => done += part,
                Err(error) if done == 0 => return Some(Err(error)),
                Err(_) => break,
            }
        }
        Some(Ok(done))
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> Result<usize> {
        let written = self.node.pages()?.lock().write(offset, data)?;
        self.node.touch_content();
        Ok(written)
    }

    fn append(&self, data: &[u8]) -> Result<(u64, usize)> {
        let mut pages = self.node.pages()?.lock();
        let end = pages.size();
        let written = pages.write(end, data)?;
        drop(pages);
        self.node.touch_content();
        Ok((end + written as u64, written))
    }

    fn append_turn(&self) -> Option<&Mutex<()>> {
        Some(self.node.fs.appends.of(self.node.ino))
    }

    fn size(&self) -> Result<u64> {
        Ok(self.node.pages()?.lock().size())
    }

    fn readdir(&self, cookie: u64, sink: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        self.node.list(cookie, sink)
    }

    fn fsync(&self, _data_only: bool) -> Result<()> {
        Ok(())
    }

    fn truncate(&self, size: u64) -> Result<()> {
        self.node.truncate(size)
    }

    fn allocate(&self, mode: AllocateMode, offset: u64, len: u64) -> Result<()> {
        let mut pages = self.node.pages().map_err(|_| Errno::ENODEV)?.lock();
        match mode {
            AllocateMode::Extend => pages.reserve(offset, len, false)?,
            AllocateMode::KeepSize => pages.reserve(offset, len, true)?,
            AllocateMode::PunchHole => pages.punch(offset, len)?,
            AllocateMode::ZeroRange => {
                pages.punch(offset, len)?;
                pages.reserve(offset, len, false)?;
            }
        }
        drop(pages);
        self.node.touch_content();
        Ok(())
    }

    fn page_source(self: Arc<Self>) -> Option<Arc<dyn PageSource>> {
        let regular = matches!(self.node.body, Body::Regular(_));
        regular.then(|| -> Arc<dyn PageSource> {
            // One for each mapping, which has been asked for.
            Arc::new(TmpSource { node: self.node.clone(), shared: Mutex::new(BTreeMap::new()) })
        })
    }

    fn maps_shared_writable(&self) -> bool {
        true
    }
}

/// The pages of a file for one mapping.
struct TmpSource {
    node: Arc<Node>,
    /// The frames given away, by address: they stay as long as the mapping may use them.
    shared: Mutex<BTreeMap<u64, Arc<Frame>>>,
}

impl PageSource for TmpSource {
    fn id(&self) -> SourceId {
        let id = self.node.identity();
        SourceId { dev: id.dev, ino: id.ino }
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> core::result::Result<usize, IoError> {
        let pages = self.node.pages().map_err(|_| IoError::Failed)?;
        Ok(pages.lock().read(offset, buffer))
    }

    fn can_share(&self) -> bool {
        true
    }

    fn shared_frame(&self, index: u64, _writable: bool) -> core::result::Result<Option<Lent>, IoError> {
        let mut pages = self.node.pages().map_err(|_| IoError::Failed)?.lock();
        if index >= pages.size().div_ceil(PAGE_SIZE) {
            return Ok(None);
        }
        let frame = pages.frame(index).map_err(|_| IoError::NoMemory)?.clone();
        drop(pages);
        let share = frame.lend();
        fallible::admit(fallible::SMALL_BYTES).map_err(|_| IoError::NoMemory)?;
        self.shared.lock().insert(share.phys(), frame);
        Ok(Some(share))
    }
}
